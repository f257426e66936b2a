package vmgroup

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	clientfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/budget"
	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
)

// clusters are several members.
type clusters map[multicluster.ClusterName]testCluster

func (c clusters) GetCluster(_ context.Context, name multicluster.ClusterName) (cluster.Cluster, error) {
	return c[name], nil
}

// attacker is the API server of another member, with arbitrary answers.
type attacker struct {
	client  client.Client
	request mcreconcile.Request
}

// attackedBy adds a member that lists this group, with a far later resource version.
func (r *rig) attackedBy(group *v1alpha1.VmGroup) attacker {
	r.t.Helper()
	group.ResourceVersion = "99999999"
	a := attacker{request: r.request, client: clientfake.NewClientBuilder().WithScheme(allkinds.Scheme()).WithStatusSubresource(group).
		WithObjects(group, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: group.Namespace}}).Build()}
	a.request.ClusterName, a.request.Name = "attacker", group.Name
	r.Clusters = clusters{v1alpha1.LocalMember: {client: r.member}, "attacker": {client: a.client}}
	r.Fleet.SetMember(fleet.Member{Name: "attacker", UID: "attacker-uid", State: fleet.Engaged})
	for request, cl := range map[mcreconcile.Request]client.Client{r.request: r.member, a.request: a.client} {
		var seen v1alpha1.VmGroup
		if err := cl.Get(r.t.Context(), request.NamespacedName, &seen); err != nil {
			r.t.Fatal(err)
		}
		member, _ := r.Fleet.Member(string(request.ClusterName))
		r.Fleet.SetGroup(refOf(request), keyOf(member.UID, &seen), &seen, "default")
	}
	r.delivered()
	return a
}

// attack runs passes over the attacker's group, and ends vCenter's tasks in between.
func (r *rig) attack(a attacker, n int) {
	r.t.Helper()
	for range n {
		if _, err := r.Reconcile(r.t.Context(), a.request); err != nil {
			r.t.Fatal(err)
		}
		r.vcenter.Finish(-1)
	}
}

func TestAMemberThatListsAnothersGroupUIDNeitherTouchesItNorWedgesIt(t *testing.T) {
	r := newRig(t)
	victim := r.settle()
	before := r.references()
	forged := victim.DeepCopy()
	forged.Spec.Replicas = new(int32)
	a := r.attackedBy(forged)
	r.attack(a, 4)
	if now := r.references(); len(now) != len(before) {
		t.Fatalf("the victim's VMs were %v and are %v", before, now)
	}

	r.edit(func(s *v1alpha1.VmGroupSpec) { s.Replicas = new(int32(3)) })
	r.rounds(4)
	if n := len(r.references()); n != 3 {
		t.Errorf("the victim wants 3 VMs and has %d while the attacker's group is there: %s", n, words(r.group().Status.Conditions))
	}
	if err := a.client.Delete(t.Context(), forged); err != nil {
		t.Fatal(err)
	}
	r.attack(a, 3)
	r.forget(a.request)
	if r.memory.of(r.object()).resourceVersion == "" {
		t.Error("what is remembered of the victim was forgotten with the attacker's group")
	}
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.Replicas = new(int32(4)) })
	r.rounds(4)
	if n := len(r.references()); n != 4 {
		t.Errorf("the victim has %d VMs after the attacker's group is deleted, want 4: %s", n, words(r.group().Status.Conditions))
	}
}

func TestAVMOfAnotherGroupIsNoOrphanOfOneWithItsUIDElsewhere(t *testing.T) {
	f := newFleet(newRig(t).Now)
	f.SetMember(fleet.Member{Name: "victim", UID: "victim-uid", State: fleet.Engaged})
	request := mcreconcile.Request{ClusterName: "attacker", Request: newRig(t).request.Request}
	forged := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{UID: "u"}}
	f.SetGroup(refOf(request), keyOf("attacker-uid", forged), forged, "vc")
	if absent, _ := f.Absent("victim-uid/u"); !absent {
		t.Error("a group of another member hides that the VM's own group does not exist")
	}
}

func TestAMemberThatLeavesTakesWhatItsGroupsWaitedForAlong(t *testing.T) {
	r := newRig(t)
	r.vcenter.SetLimits(budget.Limits{Tasks: 1})
	r.vcenter.Acquire("another/u", "", 1)
	r.mustPass() // wants to clone two
	r.inform(r.Reconciler)
	if n := r.vcenter.Demand(); n <= 1 {
		t.Fatalf("%d slots are wanted; the group waits for none", n)
	}
	r.Fleet.DeleteMember(v1alpha1.LocalMember)
	r.delivered()
	if n := r.vcenter.Demand(); n != 1 {
		t.Errorf("demand is %d slots after the member is deleted, want 1 for a group of another member", n)
	}
	if len(r.memory.groups) != 0 {
		t.Errorf("of groups of the member is remembered: %v", r.memory.groups)
	}
}

// The API server of a member can name another vCenter for each of any number of groups, before they are
// deleted.
func TestAGroupThatNamesAnotherVCenterWantsNothingOfTheOneBefore(t *testing.T) {
	r := newRig(t)
	r.vcenter.SetLimits(budget.Limits{Tasks: 1})
	r.vcenter.Acquire("another/u", "", 1)
	r.mustPass() // wants to clone two
	handler, before := r.feed.Groups(v1alpha1.LocalMember, nil), r.group()
	handler.Create(t.Context(), event.CreateEvent{Object: before}, nil)
	if n := r.vcenter.Demand(); n <= 1 {
		t.Fatalf("%d slots are wanted; the group waits for none", n)
	}
	after := before.DeepCopy()
	after.Status.VCenter = "other"
	handler.Update(t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: after}, nil)
	if n := r.vcenter.Demand(); n != 1 {
		t.Errorf("%d slots are wanted by groups of this vCenter, and one is left", n)
	}
	r.mustPass() // it has read the group before
	if n := r.vcenter.Demand(); n != 1 {
		t.Errorf("%d slots are wanted after a pass that was under way", n)
	}
}
