package observe

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/fake"
)

// sharing is a reader that records whether a read can share the cache's objects.
type sharing struct {
	client.Reader
	shares bool
}

func (s *sharing) Get(_ context.Context, _ client.ObjectKey, _ client.Object, opts ...client.GetOption) error {
	var options client.GetOptions
	options.ApplyOptions(opts)
	s.shares = options.UnsafeDisableDeepCopy != nil && *options.UnsafeDisableDeepCopy
	return nil
}

// Claims of quotas wait with the labels, and a namespace can have thousands of groups.
func TestLabelsOfANamespaceAreNotCopiedForEachPass(t *testing.T) {
	reader := &sharing{}
	if _, err := lookUpNamespace(t.Context(), reader, "m", "team"); err != nil || !reader.shares {
		t.Errorf("they are shared with the cache: %t, %v", reader.shares, err)
	}
}

// asking is a vCenter that counts the VMs that are looked up.
type asking struct {
	vsphere.Server
	known, longest int
}

func (a *asking) Observe(q vsphere.Query) vsphere.Observation {
	a.known = max(a.known, len(q.Known))
	for _, ref := range q.Known {
		a.longest = max(a.longest, len(ref.Value))
	}
	return a.Server.Observe(q)
}

// An API server that checks nothing shows a status of 3 MiB, and each reference in it is looked up in vCenter.
func TestOfAStatusOnlyAsManyReferencesAreLookedUpAsOneCanHave(t *testing.T) {
	g := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", UID: "uid"}}
	g.Status.Folder = &v1alpha1.FolderStatus{Path: "root/m/team/web.uid", MoRef: "group-v7"}
	for i := range 5002 {
		g.Status.VMs = append(g.Status.VMs, v1alpha1.VMStatus{Ordinal: int32(i + 10), MoRef: fmt.Sprintf("vm-%d", i+1000)})
	}
	g.Status.VMs[0].MoRef = strings.Repeat("v", 129)
	vcenter := &asking{Server: fake.New(fake.Options{Now: time.Now})}
	s := &group.Snapshot{Now: time.Now(), Group: g, ID: vsphere.GroupID{Installation: "installation", Member: "member-uid", Group: string(g.UID)}, Folder: g.Status.Folder, Member: "m"}
	(&gatherer{}).observe(s, vcenter, "")
	if vcenter.known != 1200 || vcenter.longest > 128 {
		t.Errorf("vCenter is asked about %d VMs, the longest reference has %d bytes", vcenter.known, vcenter.longest)
	}
}
