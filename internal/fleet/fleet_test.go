package fleet

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
	"github.com/codeconnect/vmgroup-operator/internal/sharding"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// noon is a clock that does not advance.
type noon struct{}

func (noon) Now() time.Time { return time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC) }

// byName is a shard map in which the length of a group's name, with its namespace, is the bucket.
type byName struct{}

func (byName) Bucket(key sharding.Key) int { return len(key.Namespace + key.Name) }

// Holds is true for all but bucket 9, which another replica holds.
func (b byName) Holds(key sharding.Key) bool { return b.Bucket(key) != 9 }

// sinkFunc is a subscriber.
type sinkFunc[K comparable] func(K, Reason)

func (s sinkFunc[K]) Deliver(key K, why Reason) { s(key, why) }

func newFleet() *Fleet { return New(noon{}, massdeletion.DefaultRules(), byName{}) }

// groupFor is a group with this UID and this many VMs.
func groupFor(uid string, vms int32) *v1alpha1.VmGroup {
	g := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid)}}
	g.Status.Replicas = vms
	return g
}

// see records a group whose UID has no meaning outside its member.
func (f *Fleet) see(ref Ref, uid, vcenter string, vms int32) {
	f.SetGroup(ref, vsphere.KeyOf(ref.Member, uid), groupFor(uid, vms), vcenter)
}

// uses counts the groups that name a vCenter.
func (f *Fleet) uses(vcenter string) (n int) {
	for range f.In(Scope{VCenter: vcenter}) {
		n++
	}
	return n
}

func TestNewsReachTheGroupsTheyConcern(t *testing.T) {
	f := newFleet()
	var delivered, counted []string
	firsts := 0
	f.SubscribeGroups(sinkFunc[Ref](func(r Ref, why Reason) {
		delivered = append(delivered, r.String())
		if why == TakenOver {
			firsts++
		}
	}))
	f.SubscribeMembers(sinkFunc[string](func(member string, _ Reason) { counted = append(counted, member) }))
	for _, member := range []string{"m1", "m2"} {
		f.SetMember(Member{Name: member, UID: member, State: Engaged})
	}
	f.see(Ref{"m3", "n1", "a"}, "away", "vc1", 1)
	f.see(Ref{"m2", "n1", "another"}, "another", "vc1", 1)
	counted = nil
	a, b, c := Ref{"m1", "n1", "a"}, Ref{"m1", "n2", "b"}, Ref{"m2", "n1", "c-c"}
	f.see(a, "a1", "vc1", 2)
	f.see(b, "b1", "vc2", 1)
	f.see(c, "c1", "vc1", 4)
	f.see(a, "a1", "vc1", 2) // nothing new
	expect := func(what string, do func(), want ...Ref) {
		t.Helper()
		delivered = nil
		do()
		names := make([]string, 0, len(want))
		for _, r := range want {
			names = append(names, r.String())
		}
		if slices.Sort(delivered); !slices.Equal(delivered, names) {
			t.Errorf("%s delivers %v, want %v", what, delivered, names)
		}
	}
	expect("a group's change", func() { f.GroupChanged("m1/b1") }, b)
	expect("a stranger's change", func() { f.GroupChanged("m2/b1") })
	expect("a vCenter's change", func() { f.VCenterChanged("vc1") }, a, c)
	expect("a namespace's change", func() { f.NamespaceChanged("m1", "n1") }, a)
	expect("a change of the policies", func() { f.PoliciesChanged() }, a, b, c)
	if firsts > 0 {
		t.Errorf("%d changes went before others", firsts)
	}
	expect("a takeover", func() { f.Gained([]int{1, 3}) }, a, b)
	if firsts != 2 {
		t.Errorf("%d of 2 groups that were taken over go before others", firsts)
	}
	expect("a takeover of other buckets", func() { f.Gained([]int{2, 9}) })
	expect("a takeover of no buckets", func() { f.Gained(nil) })
	if !slices.Equal(counted, []string{"m1", "m1", "m2"}) {
		t.Errorf("counts changed for %v", counted)
	}
	if n := f.Tally("m1"); n.Groups != 2 || n.VMs != 3 {
		t.Errorf("m1 has %+v", n)
	}
	f.see(a, "a2", "vc1", 0) // created again under its name
	expect("the old group's change", func() { f.GroupChanged("m1/a1") })
	if n := f.Tally("m1"); n.Groups != 2 {
		t.Errorf("m1 has %+v after one was created again", n)
	}
	if key, _, _ := f.DeleteGroup(a); key != "m1/a2" || f.uses("vc1") != 3 {
		t.Errorf("forgot %q; %d groups use vc1", key, f.uses("vc1"))
	}
	if f.DeleteMember("m2"); f.uses("vc1") != 1 {
		t.Errorf("%d groups use vc1 after the member was deleted, want 1", f.uses("vc1"))
	}
}

func TestAGroupSeenUnderAnotherNameOfItsMemberIsNotForgottenWithTheOldName(t *testing.T) {
	f := newFleet()
	delivered := 0
	f.SubscribeGroups(sinkFunc[Ref](func(Ref, Reason) { delivered++ }))
	f.SetMember(Member{Name: "new", UID: "m", State: Engaged})
	f.SetGroup(Ref{"old", "n", "g"}, "m/u", groupFor("u", 0), "vc")
	f.SetGroup(Ref{"new", "n", "g"}, "m/u", groupFor("u", 0), "vc")
	f.DeleteGroup(Ref{"old", "n", "g"})
	if f.Gained([]int{2}); delivered != 1 || f.uses("vc") != 1 {
		t.Errorf("after a takeover %d groups are delivered and %d known, want 1", delivered, f.uses("vc"))
	}
}

func TestGroupsDeletedWhileTheirMemberWasAwayAreNotCounted(t *testing.T) {
	f := newFleet()
	for _, name := range []string{"a", "b"} {
		f.see(Ref{"m", "team", name}, name, "vc", 0)
	}
	told := 0
	f.SubscribeMembers(sinkFunc[string](func(string, Reason) { told++ }))
	for range 2 { // a deleted group is no news again
		f.KeepOnly("m", map[Ref]vsphere.GroupKey{{"m", "team", "b"}: "m/b"})
	}
	if n := f.uses("vc"); n != 1 || told != 1 {
		t.Errorf("%d groups use the vCenter, want the remaining one; notified %d times, want once", n, told)
	}
}

func TestAGroupIsAbsentOnlyIfItsMemberIsThereAndDoesNotHaveIt(t *testing.T) {
	f := newFleet()
	f.SetMember(Member{Name: "m", UID: "here", State: Engaged})
	f.SetGroup(Ref{"m", "n", "g"}, "here/known", groupFor("known", 0), "vc")
	f.SetGroup(Ref{"n", "n", "g"}, "away/known", groupFor("known", 0), "vc")
	for key, want := range map[vsphere.GroupKey]struct{ absent, known bool }{
		"here/known": {known: true}, "here/unknown": {absent: true, known: true}, "away/unknown": {}, "away/known": {known: true},
	} {
		if absent, known := f.Absent(key); absent != want.absent || known != want.known {
			t.Errorf("%s is absent: %t, known: %t", key, absent, known)
		}
	}
}

func TestWhatGroupsCountOnIsKnownOnceAllMembersHaveToldOfTheirs(t *testing.T) {
	f := newFleet()
	places := map[string]string{"a": "vc", "b": "vc", "c": "other"}
	for name, vcenter := range places {
		group := groupFor(name, 0)
		group.Spec.Replicas = ptr.To[int32](2)
		f.SetGroup(Ref{"m", "n", name}, vsphere.KeyOf("m", name), group, vcenter)
	}
	f.List("m")
	if _, known := f.Expected("vc", []string{"m", "away"}); known {
		t.Error("the expectation of an unlisted member counts as known")
	}
	if e, known := f.Expected("vc", []string{"m"}); e.VMs != 4 || !e.Unrecorded || !known {
		t.Errorf("the groups count on %+v, known %v; want 4 VMs, of which none is recorded", e, known)
	}
	for name, ref := range map[string]string{"a": "vm-1", "b": "vm-2", "c": "vm-3"} {
		group := groupFor(name, 0)
		group.Spec.Replicas, group.Status.VMs = ptr.To[int32](1), []v1alpha1.VMStatus{{MoRef: ref}}
		f.SetGroup(Ref{"m", "n", name}, vsphere.KeyOf("m", name), group, places[name])
	}
	e, _ := f.Expected("vc", []string{"m"})
	slices.SortFunc(e.Recorded, func(a, b vsphere.Ref) int { return strings.Compare(a.Value, b.Value) })
	if want := []vsphere.Ref{vsphere.VMRef("vm-1"), vsphere.VMRef("vm-2")}; !slices.Equal(e.Recorded, want) || e.Unrecorded {
		t.Errorf("the groups have recorded %+v, want %v", e, want)
	}
}

// A user who can write to a member's API server can confirm 100,000 namespaces, and have others the next time.
func TestConfirmationsAreThoseThatTheMemberHasNow(t *testing.T) {
	f := newFleet()
	f.ConfirmOnly("m", map[string]struct{}{"a": {}, "b": {}})
	f.SetNamespace("m", "c", true)
	f.SetNamespace("m", "a", false)
	f.ConfirmOnly("m", map[string]struct{}{"c": {}, "d": {}})
	if got := f.members["m"].confirmed; len(got) != 2 {
		t.Errorf("confirmed are %v, want c and d", got)
	}
	if f.DeleteMember("m"); len(f.members) != 0 {
		t.Error("a deleted member is still in memory")
	}
}

func TestATenureEndsWithTheLossOfItsBucketBeforeTheNewsOfThat(t *testing.T) {
	f := newFleet()
	ref := Ref{"m", "n", "g"}
	f.see(ref, "u", "vc", 1)
	of := sharding.Key{ClusterUID: "m", Namespace: "n", Name: "g"}
	before := f.Tenure(of)
	var told []Departed
	f.SubscribeDeparted(sinkFunc[Departed](func(d Departed, _ Reason) {
		if told = append(told, d); f.Tenure(of) == before {
			t.Error("the news come while what was remembered counts")
		}
	}))
	f.Gained([]int{2})
	f.Lost([]int{3})
	f.Lost(nil)
	if f.Tenure(of) != before || len(told) > 0 {
		t.Errorf("the tenure ends with the loss of another bucket; notified %v", told)
	}
	if f.Lost([]int{2}); f.Tenure(of) == before || !slices.Equal(told, []Departed{{ref, "m/u", "vc"}}) {
		t.Errorf("the tenure is %d and was %d; notified %v", f.Tenure(of), before, told)
	}
}
