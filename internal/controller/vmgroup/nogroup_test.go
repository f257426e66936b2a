package vmgroup

import (
	"context"
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func TestThatAGroupDoesNotExistIsSaidOnlyWhereItIsCertain(t *testing.T) {
	const uid, other = "6d1b1c5e", "0a1b2c3d" // the first is the group's
	for name, c := range map[string]struct {
		change func(r *rig)
		uid    string
		gone   bool
		failed bool
	}{
		"another UID":                        {uid: other, gone: true},
		"the group's own UID":                {uid: uid},
		"it is in the API server alone":      {change: func(r *rig) { r.Fleet.DeleteGroup(refOf(r.request)) }, uid: uid},
		"a group of another member has it":   {change: func(r *rig) { r.othersGroup(other + "-0000") }, uid: other},
		"the member's groups are not known":  {change: func(r *rig) { r.Fleet.DeleteMember(v1alpha1.LocalMember) }, uid: other},
		"the member is not engaged":          {change: func(r *rig) { r.memberIs(func(m *fleet.Member) { m.State = fleet.Away }) }, uid: other},
		"the member does not answer":         {change: func(r *rig) { r.memberIs(func(m *fleet.Member) { m.Silent = true }) }, uid: other},
		"the member is paused":               {change: func(r *rig) { r.memberIs(func(m *fleet.Member) { m.Paused = true }) }, uid: other},
		"the member becomes another cluster": {change: func(r *rig) { r.becomes(func(m *fleet.Member) { m.UID = "another" }) }, uid: other},
		"the member goes silent meanwhile":   {change: func(r *rig) { r.becomes(func(m *fleet.Member) { m.Silent = true }) }, uid: other},
		"the API server refuses":             {change: func(r *rig) { r.Clusters = testCluster{client: r.member, live: refusing{r.member}} }, uid: other, failed: true},
		"a page is not found":                {change: func(r *rig) { r.Clusters = testCluster{client: r.member, live: pageNotFound{r.member}} }, uid: other, failed: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.mustPass()
			r.Fleet.SetGroup(refOf(r.request), r.key(), r.group(), "default")
			r.Fleet.List(v1alpha1.LocalMember)
			if c.change != nil {
				c.change(r)
			}
			reads := &countsReads{Reader: r.Clusters.(testCluster).GetAPIReader()}
			r.Clusters = testCluster{client: r.member, live: reads}
			gone, err := r.NoGroup(t.Context(), v1alpha1.LocalMember, types.NamespacedName{Namespace: "team", Name: "web"}, c.uid)
			if gone != c.gone || (err != nil) != c.failed {
				t.Errorf("gone: %t, %v", gone, err)
			}
			if reads.gets > 1 || reads.lists+reads.unbounded > 0 {
				t.Errorf("the member was asked for %d objects and %d lists; %d reads had no deadline", reads.gets, reads.lists, reads.unbounded)
			}
		})
	}
}

// othersGroup gives another member a group with this UID.
func (r *rig) othersGroup(uid string) {
	r.Fleet.SetGroup(fleet.Ref{Member: "elsewhere", Namespace: "team", Name: "web"}, vsphere.KeyOf("elsewhere", uid), namedGroup(uid), "default")
}

// during is an API server that runs a function while it answers.
type during struct {
	client.Reader
	happens func()
}

func (d during) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	d.happens()
	return d.Reader.Get(ctx, key, into, opts...)
}

// becomes changes the state of the member while its API server handles a request.
func (r *rig) becomes(change func(*fleet.Member)) {
	r.Clusters = testCluster{client: r.member, live: during{r.member, func() { r.memberIs(change) }}}
}

// TestAGroupWhoseEmptyFolderWasRemovedMakesItAnew: the group was restored with its member's etcd, after its folder was removed as ownerless.
func TestAGroupWhoseEmptyFolderWasRemovedMakesItAnew(t *testing.T) {
	r := newRig(t)
	before := *r.settle().Status.Folder
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 0 })
	if r.work(); len(r.vcenter.VMs()) != 0 {
		t.Fatalf("left are %v", r.vcenter.VMs())
	}
	r.vcenter.ByHand().DeleteFolder(vsphere.FolderRef(before.MoRef))
	r.rounds(2)
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 2 })
	g := r.settle()
	if !meta.IsStatusConditionTrue(g.Status.Conditions, v1alpha1.ConditionReady) || len(r.vcenter.VMs()) != 2 || g.Status.Folder == nil || g.Status.Folder.MoRef == before.MoRef {
		t.Errorf("the folder is %+v, was %+v; there are %v: %s", g.Status.Folder, before, r.vcenter.VMs(), words(g.Status.Conditions))
	}
	for _, vm := range r.vcenter.VMs() {
		if vm.Folder.Value != g.Status.Folder.MoRef {
			t.Errorf("%s is in %s", vm.Name, vm.Folder.Value)
		}
	}
}

// refusing fails all reads.
type refusing struct{ client.Reader }

func (refusing) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("forbidden")
}
