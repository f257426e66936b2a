package vmgroup

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func TestGroupsDelivers(t *testing.T) {
	g := NewGroups()
	var delivered, counted []string
	firsts := 0
	bucket := func(r mcreconcile.Request) (int, bool) { return len(r.Namespace + r.Name), r.ClusterName != "m2" }
	g.deliverTo(bucket, func(r mcreconcile.Request, first bool) {
		delivered = append(delivered, r.String())
		if first {
			firsts++
		}
	})
	g.counted = func(member string) { counted = append(counted, member) }
	request := func(member, namespace, name string) mcreconcile.Request {
		return mcreconcile.Request{
			ClusterName: multicluster.ClusterName(member),
			Request:     reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}},
		}
	}
	see := func(r mcreconcile.Request, uid types.UID, vcenter string, vms int32) {
		group := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{UID: uid}}
		group.Status.Replicas = vms
		g.seen(r, vsphere.KeyOf(string(r.ClusterName), string(uid)), group, vcenter)
	}
	a, b, c := request("m1", "n1", "a"), request("m1", "n2", "b"), request("m2", "n1", "c")
	see(a, "a1", "vc1", 2)
	see(b, "b1", "vc2", 1)
	see(c, "c1", "vc1", 4)
	see(a, "a1", "vc1", 2) // nothing new
	expect := func(what string, do func(), want ...mcreconcile.Request) {
		t.Helper()
		delivered = nil
		do()
		names := make([]string, 0, len(want))
		for _, r := range want {
			names = append(names, r.String())
		}
		slices.Sort(delivered)
		if !slices.Equal(delivered, names) {
			t.Errorf("%s delivers %v, want %v", what, delivered, names)
		}
	}
	expect("a group's change", func() { g.GroupChanged("m1/b1") }, b)
	expect("a stranger's change", func() { g.GroupChanged("m2/b1") })
	expect("a vCenter's change", func() { g.VCenterChanged("vc1") }, a, c)
	expect("a member's change", func() { g.MemberChanged("m1") }, a, b)
	expect("a namespace's change", func() { g.namespaceChanged(memberNamespace{"m1", "n1"}) }, a)
	if firsts > 0 {
		t.Errorf("%d changes went before others", firsts)
	}
	expect("a takeover", func() { g.Gained([]int{1, 3}) }, a, b) // m2 is not engaged
	if firsts != 2 {
		t.Errorf("%d of 2 groups that were taken over go before others", firsts)
	}
	expect("a takeover of other buckets", func() { g.Gained([]int{2}) })
	if !slices.Equal(counted, []string{"m1", "m1", "m2"}) {
		t.Errorf("counts changed for %v", counted)
	}
	if groups, vms := g.CountMember("m1"); groups != 2 || vms != 3 {
		t.Errorf("m1 has %d groups and %d VMs", groups, vms)
	}
	see(a, "a2", "vc1", 0) // created again under its name
	expect("the old group's change", func() { g.GroupChanged("m1/a1") })
	if groups, _ := g.CountMember("m1"); groups != 2 {
		t.Errorf("m1 has %d groups after one was created again", groups)
	}
	if key, _, _ := g.forget(a); key != "m1/a2" || g.CountVCenter(t.Context(), "vc1", nil) != 1 {
		t.Errorf("forgot %q; %d groups use vc1", key, g.CountVCenter(t.Context(), "vc1", nil))
	}
	if g.ForgetMember("m2"); g.CountVCenter(t.Context(), "vc1", nil) != 0 {
		t.Errorf("%d groups of a member that is gone use vc1", g.CountVCenter(t.Context(), "vc1", nil))
	}
}

func TestAGroupSeenUnderAnotherNameOfItsMemberIsNotForgottenWithTheOldName(t *testing.T) {
	g := NewGroups()
	delivered := 0
	g.deliverTo(func(mcreconcile.Request) (int, bool) { return 1, true }, func(mcreconcile.Request, bool) { delivered++ })
	request := func(member string) mcreconcile.Request {
		return mcreconcile.Request{ClusterName: multicluster.ClusterName(member), Request: reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "n", Name: "g"}}}
	}
	group := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{UID: "u"}}
	g.seen(request("old"), "m/u", group, "vc")
	g.seen(request("new"), "m/u", group, "vc")
	g.forget(request("old"))
	if g.Gained([]int{1}); delivered != 1 || g.CountVCenter(t.Context(), "vc", nil) != 1 {
		t.Errorf("after a takeover %d groups are enqueued and %d counted, want 1", delivered, g.CountVCenter(t.Context(), "vc", nil))
	}
}

func TestGroupsDeletedWhileTheirMemberWasAwayAreNotCounted(t *testing.T) {
	g := NewGroups()
	for _, name := range []string{"a", "b"} {
		g.seen(requestFor("m", name), vsphere.KeyOf("m", name), &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{UID: types.UID(name)}}, "vc")
	}
	told := 0
	g.counted = func(string) { told++ }
	for range 2 { // what is gone is no news again
		g.keepOnly("m", map[mcreconcile.Request]vsphere.GroupKey{requestFor("m", "b"): "m/b"})
	}
	if n := g.CountVCenter(t.Context(), "vc", nil); n != 1 || told != 1 {
		t.Errorf("%d groups use the vCenter, want the one that is left; told %d times, want once", n, told)
	}
}

func TestNothingIsRememberedOfAGroupThatWasDeletedUnseen(t *testing.T) {
	for name, missed := range map[string]func(*rig, *v1alpha1.VmGroup){
		"and created anew": func(r *rig, was *v1alpha1.VmGroup) {
			anew := was.DeepCopy()
			anew.UID = "another"
			r.Groups.seen(r.request, keyOf("member-uid", anew), anew, "default")
		},
		"while its member was away":  func(r *rig, _ *v1alpha1.VmGroup) { r.Groups.keepOnly(v1alpha1.LocalMember, nil) },
		"and its member with it too": func(r *rig, _ *v1alpha1.VmGroup) { r.Groups.ForgetMember(v1alpha1.LocalMember) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			g := r.settle()
			r.Groups.seen(r.request, keyOf("member-uid", g), g, "default")
			if r.memory.of(objectOf("member-uid", g)).resourceVersion == "" {
				t.Fatal("nothing is remembered of a group that was just written")
			}
			missed(r, g)
			if _, known := r.memory.groups[objectOf("member-uid", g)]; known {
				t.Error("it is remembered for ever")
			}
		})
	}
}

func TestAGroupIsRememberedWhenItsMemberWasRenamed(t *testing.T) {
	r := newRig(t)
	g := r.settle()
	old := r.request
	old.ClusterName = "old"
	r.Groups.seen(old, keyOf("member-uid", g), g, "default")
	r.Groups.seen(r.request, keyOf("member-uid", g), g, "default")
	r.Groups.ForgetMember("old")
	if r.memory.of(objectOf("member-uid", g)).resourceVersion == "" {
		t.Error("the operator's own last write is forgotten: an older cache would be believed")
	}
}

func TestAVMIsAnOrphanOnlyIfItsMemberIsThereAndHasNoSuchGroup(t *testing.T) {
	g := NewGroups()
	g.served = func(uid string) bool { return uid == "here" }
	r := mcreconcile.Request{ClusterName: "m", Request: reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "n", Name: "g"}}}
	g.seen(r, "here/known", &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{UID: "known"}}, "vc")
	vm := func(name, member, group string) vsphere.VM {
		return vsphere.VM{Name: name, Stamp: &vsphere.Stamp{GroupID: vsphere.GroupID{Member: member, Group: group}}}
	}
	got := g.Orphans([]vsphere.VM{vm("a", "here", "known"), vm("b", "here", "unknown"), vm("c", "away", "unknown"), {Name: "d"}})
	if len(got) != 1 || got[0].Name != "b" {
		t.Errorf("orphans are %+v, want b", got)
	}
	g.kept = func(key vsphere.GroupKey) bool { return key != "here/unknown" }
	vms := []vsphere.VM{vm("a", "here", "known"), vm("b", "here", "unknown"), vm("c", "away", "released"), vm("e", "here", "released")}
	if got := g.Orphans(vms); len(got) != 1 || got[0].Name != "b" {
		t.Errorf("orphans beside kept VMs are %+v, want b", got)
	}
	if got := g.Released(vms); len(got) != 1 || got[0].Name != "e" {
		t.Errorf("kept are %+v, want e", got)
	}
}

func TestWhatGroupsCountOnIsKnownOnceAllMembersHaveToldOfTheirs(t *testing.T) {
	g := NewGroups()
	for name, vcenter := range map[string]string{"a": "vc", "b": "vc", "c": "other"} {
		r := mcreconcile.Request{ClusterName: "m", Request: reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "n", Name: name}}}
		group := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{UID: types.UID(name)}, Spec: v1alpha1.VmGroupSpec{Replicas: ptr.To[int32](2)}}
		g.seen(r, vsphere.KeyOf("m", name), group, vcenter)
	}
	g.list("m")
	if _, known := g.Expected("vc", []string{"m", "away"}); known {
		t.Error("a member that has told nothing counts on nothing")
	}
	if e, known := g.Expected("vc", []string{"m"}); e.VMs != 4 || !e.Unrecorded || !known {
		t.Errorf("the groups count on %+v, known %v; want 4 VMs, of which none is recorded", e, known)
	}
	for name, ref := range map[string]string{"a": "vm-1", "b": "vm-2", "c": "vm-3"} {
		r := mcreconcile.Request{ClusterName: "m", Request: reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "n", Name: name}}}
		group := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{UID: types.UID(name)}, Spec: v1alpha1.VmGroupSpec{Replicas: ptr.To[int32](1)}}
		group.Status.VMs = []v1alpha1.VMStatus{{MoRef: ref}}
		g.seen(r, vsphere.KeyOf("m", name), group, map[string]string{"c": "other"}[name]+map[bool]string{true: "vc"}[name != "c"])
	}
	e, _ := g.Expected("vc", []string{"m"})
	slices.SortFunc(e.Recorded, func(a, b vsphere.Ref) int { return strings.Compare(a.Value, b.Value) })
	if want := []vsphere.Ref{vsphere.VMRef("vm-1"), vsphere.VMRef("vm-2")}; !slices.Equal(e.Recorded, want) || e.Unrecorded {
		t.Errorf("the groups have recorded %+v, want %v", e, want)
	}
}
