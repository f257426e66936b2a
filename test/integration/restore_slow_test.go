//go:build unix && slow

package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// bump is more than the number of writes between a backup and its restore.
const bump = 3000

func TestRestoreOfAMemberStartsItsCachesAnewAndKeepsEveryVM(t *testing.T) { restoreMember(t, 0) }

func TestRestoreOfAMemberWithARevisionBumpKeepsEveryVM(t *testing.T) { restoreMember(t, bump) }

// restoreMember restores a member to a time before a VM was replaced, a group was deleted and another one was created.
func restoreMember(t *testing.T, bump int) {
	w := troubled.enter(t)
	sameManager(t, w)
	throughProxies(t, w)
	name := fmt.Sprintf("restored-%d", bump)
	v := newVCenter(t, w, name)
	p := newPlace(t, w, "team-b", name)
	for _, group := range []string{"heals", "goes", "edited"} {
		p.apply(p.group(group, 2, v.of))
	}
	heals, goes, edited := p.untilRunning("heals", 2), p.untilRunning("goes", 2), p.untilRunning("edited", 2)
	backup := filepath.Join(t.TempDir(), "backup")
	if err := p.cluster.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	untilMember(t, w, p.member, "True", "")

	if err := w.Person.Destroy(t.Context(), folderOf(t, heals)+"/heals-1"); err != nil {
		t.Fatal(err)
	}
	healed := p.until("the lost VM to be replaced", "heals", func(g *v1alpha1.VmGroup) bool {
		return stack.IsReady(g.Status.Conditions) && len(g.Status.VMs) == 2 && g.Status.VMs[1].MoRef != heals.Status.VMs[1].MoRef
	})
	p.delete("goes")
	p.untilGone("goes")
	p.apply(p.group("newer", 1, v.of))
	newer := p.untilRunning("newer", 1)
	for i := range 20 {
		p.patch("edited", fmt.Sprintf(`{"metadata":{"annotations":{"edit":"%d"}}}`, i))
	}
	untilLookedAt(t, p.cluster.Proxy, "vmgroups")
	v.proxy.Reset()
	said := restoreSaid(t, w, p.member) // from the other story of this member

	if err := p.cluster.Restore(t.Context(), backup, bump); err != nil {
		t.Fatal(err)
	}
	if bump == 0 {
		untilRestored(t, w, p.member, said)
	}
	// Changes of spec are processed at once, and not only when the revisions have passed the earlier ones.
	await.NoError(t, "the API server to serve VmGroups again and to take an edit", func() error {
		return p.cluster.Patch(p.ctx, p.group("edited", 3), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":3}}`)))
	})
	grown := p.untilRunning("edited", 3)
	for i, vm := range edited.Status.VMs {
		if grown.Status.VMs[i].MoRef != vm.MoRef {
			t.Errorf("%s is %s, was %s", vm.Name, grown.Status.VMs[i].MoRef, vm.MoRef)
		}
	}
	p.until("the VM that is not in the backup to be taken back", "heals", func(g *v1alpha1.VmGroup) bool {
		return stack.IsReady(g.Status.Conditions) && len(g.Status.VMs) == 2 &&
			g.Status.VMs[0].MoRef == healed.Status.VMs[0].MoRef && g.Status.VMs[1].MoRef == healed.Status.VMs[1].MoRef
	})
	p.until("the group that was deleted to have VMs again", "goes", func(g *v1alpha1.VmGroup) bool {
		return stack.IsReady(g.Status.Conditions) && len(g.Status.VMs) == 2 && g.Status.VMs[0].MoRef != goes.Status.VMs[0].MoRef
	})
	// The VM of the group that is not in the backup continues to run, and this is reported.
	v.untilSays(v1alpha1.ConditionOrphanedVMs, "True", v1alpha1.ReasonGroupGone, newer.Status.VMs[0].MoRef)
	if clones, destroys := v.done("CloneVM_Task"), v.done("Destroy_Task"); clones != 3 || destroys != 0 {
		t.Errorf("%d clones and %d destroys, want 3 (one of edited, two of goes) and none", clones, destroys)
	}
	untilVCenterHolds(t, w, "/DC0/vm/"+name, 8)
	takesOver(t, w, p, v, newer)
	untilVCenterHolds(t, w, "/DC0/vm/"+name, 8)
	v.oneSession()
	untilMember(t, w, p.member, "True", "")
	if now := restoreSaid(t, w, p.member); (now != said) != (bump == 0) {
		t.Errorf("the MemberCluster says of a restore %q, before it %q", now, said)
	}
}

// takesOver makes a new group adopt the VM of one that vanished, with a hub administrator's approval.
func takesOver(t *testing.T, w *world, p *place, v *vcenterUnderTest, newer *v1alpha1.VmGroup) {
	t.Helper()
	p.apply(p.group("newest", 1, v.of, func(g *v1alpha1.VmGroup) {
		g.Annotations = map[string]string{v1alpha1.AdoptAnnotation: string(newer.UID)}
	}))
	p.untilSays("newest", v1alpha1.ConditionAdopted, metav1.ConditionFalse, v1alpha1.ReasonAdoptionNotAllowed, "kubectl annotate membercluster "+p.member)
	allow := func(until *string) {
		mc := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: p.member}}
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]*string{v1alpha1.AllowAdoptionAnnotation: until}}})
		if err == nil {
			err = w.Hub.Patch(t.Context(), mc, client.RawPatch(types.MergePatchType, patch))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	soon := time.Now().Add(30 * time.Minute).UTC().Format(time.RFC3339)
	allow(&soon)
	if took := p.untilRunning("newest", 1).Status.VMs[0]; took.MoRef != newer.Status.VMs[0].MoRef || took.Name != "newest-0" {
		t.Errorf("the new group has %+v, want %s", took, newer.Status.VMs[0].MoRef)
	}
	allow(nil)
}

// untilLookedAt waits until the manager has read the revision of a cluster's storage, which it does every minute. The
// backup's revision is lower now, even after the API server's own writes at its start.
func untilLookedAt(t *testing.T, proxy *localcluster.APIProxy, resource string) {
	t.Helper()
	looked := make(chan struct{}, 1)
	proxy.Hook(func(call localcluster.APICall) faultproxy.Fault {
		if call.Verb == "list" && call.Resource == resource && call.Limit == "1" {
			return faultproxy.Fault{After: func() {
				select {
				case looked <- struct{}{}:
				default:
				}
			}}
		}
		return faultproxy.Fault{}
	})
	defer proxy.Hook(nil)
	select {
	case <-looked:
	case <-time.After(patience):
		t.Fatalf("the manager does not list %s", resource)
	}
}

// restoreSaid is the MemberCluster's report of a restore. It stays for a day, with the time of the restore.
func restoreSaid(t *testing.T, w *world, member string) string {
	t.Helper()
	mc := &v1alpha1.MemberCluster{}
	if err := w.Hub.Get(t.Context(), key("", member), mc); err != nil {
		t.Fatal(err)
	}
	if c := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionStorageRestored); c != nil {
		return c.Message
	}
	return ""
}

func untilRestored(t *testing.T, w *world, member, before string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	mc := &v1alpha1.MemberCluster{}
	if err := await.Condition(ctx, "the restore to be noticed", func(ctx context.Context) (bool, error) {
		err := w.Hub.Get(ctx, key("", member), mc)
		said := says(mc.Status.Conditions, v1alpha1.ConditionStorageRestored, "True", v1alpha1.ReasonRevisionWentBack, []string{"backup", "docs/runbooks/restore.md"})
		return said && restoreSaid(t, w, member) != before, err
	}); err != nil {
		t.Fatalf("%v; conditions: %s", err, stack.Words(mc.Status.Conditions))
	}
}
