package vcenter

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	clientfake "sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	knowledge "github.com/codeconnect/vmgroup-operator/internal/fleet" // type fleet is that of another test
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
	orphaned "github.com/codeconnect/vmgroup-operator/internal/group/orphans"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
)

func TestAVMIsAnOrphanWhenItHasBeenOneForAWhile(t *testing.T) {
	var o orphans
	noon := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration, vms ...string) (reported []string) {
		found := o.look("vc", noon.Add(d), func() search {
			found := search{}
			for _, vm := range vms {
				found.absent = append(found.absent, vsphere.VM{Ref: vsphere.VMRef(vm), Stamp: &vsphere.Stamp{}})
			}
			return found
		})
		for _, vm := range found {
			reported = append(reported, vm.Ref.Value)
		}
		return reported
	}
	if got := at(0, "b", "a"); len(got) != 0 {
		t.Errorf("at first sight %v are orphans", got)
	}
	at(orphanPatience/2, "b") // a has a group for a moment
	if got := at(orphanPatience-1, "b", "a"); len(got) != 0 {
		t.Errorf("before a minute is over %v are orphans", got)
	}
	if got := at(orphanPatience-1+lookInterval, "b", "a"); !slices.Equal(got, []string{"b"}) {
		t.Errorf("after a minute %v are orphans, want b", got)
	}
	if got := at(2*orphanPatience, "b", "a"); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("after two minutes %v are orphans", got)
	}
}

// fleetForTest is a fleet without users of vCenters.
type fleetForTest struct{ *knowledge.Fleet }

func (fleetForTest) CountActed(string) int                                      { return 0 }
func (fleetForTest) CountVCenter(context.Context, string, []v1alpha1.Grant) int { return 0 }

type clockFunc func() time.Time

func (c clockFunc) Now() time.Time { return c() }

type sinkFunc func(string)

func (s sinkFunc) Deliver(member string, _ knowledge.Reason) { s(member) }

// keptForTest has a receipt of one group.
type keptForTest struct{}

func (keptForTest) Settle(context.Context, string) error { return nil }

func (keptForTest) Keeps(group vsphere.GroupKey) bool { return group.Group() == "kept" }

// TestAMemberIsToldOfItsOrphans whenever they change. Before a VCenter is searched, no answer claims that there are none.
func TestAMemberIsToldOfItsOrphans(t *testing.T) {
	vc := vcenterForTest()
	members := append(make([]client.Object, 0, 3), vc)
	for name, clusterUID := range map[string]string{"team-a": "cluster-a", "team-b": "cluster-b"} {
		mc := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
		mc.Status.ClusterUID = clusterUID
		members = append(members, mc)
	}
	stamped := func(ref, member, group string) vsphere.VM {
		return vsphere.VM{Name: ref, Ref: vsphere.VMRef(ref), Folder: vsphere.FolderRef("group-7"), Stamp: &vsphere.Stamp{GroupID: vsphere.GroupID{Member: member, Group: group}}}
	}
	var told []string
	now := time.Now()
	connection := &connectionForTest{owned: []vsphere.VM{stamped("vm-1", "cluster-a", "0a1b2c3d-1"), stamped("vm-2", "cluster-b", "4-5"), stamped("vm-3", "cluster-b", "kept")}}
	known := knowledge.New(clockFunc(func() time.Time { return now }), massdeletion.DefaultRules(), nil)
	for name, clusterUID := range map[string]string{"team-a": "cluster-a", "team-b": "cluster-b"} {
		known.SetMember(knowledge.Member{Name: name, UID: clusterUID, State: knowledge.Engaged})
	}
	known.SubscribeMembers(sinkFunc(func(member string) { told = append(told, member) }))
	r := &Reconciler{
		Client: clientfake.NewClientBuilder().WithScheme(allkinds.Scheme()).WithObjects(members...).Build(), Groups: fleetForTest{known}, Now: func() time.Time { return now },
		Pool: NewPool(), Receipts: keptForTest{},
	}
	r.recognize(vc)
	var released []orphaned.Group
	look := func() {
		t.Helper()
		var err error
		if _, released, _, err = r.lookForOrphans(t.Context(), vc.Name, connection); err != nil {
			t.Fatal(err)
		}
	}
	if look(); len(told) != 0 {
		t.Errorf("at first sight, %v were notified", told)
	}
	if groups, all := known.Orphans("team-a"); len(groups) != 0 || all {
		t.Errorf("at first sight there are %v, and that is known to be all: %t", groups, all)
	}
	now = now.Add(orphanPatience)
	look()
	groups, all := known.Orphans("team-a")
	if !all || len(groups) != 1 || groups[0].Namespace != "shop" || groups[0].Name != "web" || len(groups[0].VMs) != 1 {
		t.Errorf("after a minute there are %+v, known: %t", groups, all)
	}
	if groups, _ := known.Orphans("team-b"); len(groups) != 1 || groups[0].Key.Group() != "4-5" {
		t.Errorf("VMs with a receipt are reported as orphans: %+v", groups)
	}
	if orphaned.Count(released) != 1 || released[0].Key.Group() != "kept" {
		t.Errorf("VMs with a receipt are %+v", released)
	}
	wantTold(t, told, "team-a", "team-b")
	told = nil
	now = now.Add(lookInterval)
	look()
	connection.owned = connection.owned[1:]
	now = now.Add(lookInterval)
	look()
	wantTold(t, told, "team-a")
	if groups, all := known.Orphans("team-a"); len(groups) != 0 || !all {
		t.Errorf("then there are %v, known: %t", groups, all)
	}
	now = now.Add(orphanPatience) // the vCenter was unreachable
	if _, all := known.Orphans("team-a"); all {
		t.Error("the orphans of an unchecked vCenter count as known")
	}
	told = nil
	r.forget(vc.Name)
	wantTold(t, told, "team-b")
}

// TestAnOrphanStaysReportedWhileItsMemberIsAway by both conditions, and by none once it is deleted.
func TestAnOrphanStaysReportedWhileItsMemberIsAway(t *testing.T) {
	vc, now := vcenterForTest(), time.Now()
	mc := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "team-a"}}
	mc.Status.ClusterUID = "cluster-a"
	vm := vsphere.VM{Name: "web-0", Ref: vsphere.VMRef("vm-1"), Stamp: &vsphere.Stamp{GroupID: vsphere.GroupID{Member: "cluster-a", Group: "0a1b2c3d-1"}}}
	connection := &connectionForTest{owned: []vsphere.VM{vm}}
	known := knowledge.New(clockFunc(func() time.Time { return now }), massdeletion.DefaultRules(), nil)
	r := &Reconciler{
		Client: clientfake.NewClientBuilder().WithScheme(allkinds.Scheme()).WithObjects(vc, mc).WithStatusSubresource(mc).Build(), Groups: fleetForTest{known}, Now: func() time.Time { return now }, Pool: NewPool(),
	}
	r.recognize(vc)
	look := func(state knowledge.State, orphans int, decided bool) {
		t.Helper()
		known.SetMember(knowledge.Member{Name: "team-a", UID: "cluster-a", State: state})
		now = now.Add(orphanPatience)
		groups, _, all, err := r.lookForOrphans(t.Context(), vc.Name, connection)
		if err != nil || len(groups) != orphans || all != decided {
			t.Errorf("the VCenter has orphans %v, decided: %t, error: %v; want %d, %t", groups, all, err, orphans, decided)
		}
		if groups, all := known.Orphans("team-a"); len(groups) != orphans || all != decided {
			t.Errorf("the member has orphans %v, decided: %t; want %d, %t", groups, all, orphans, decided)
		}
	}
	look(knowledge.Away, 0, false) // no replica has searched before
	look(knowledge.Away, 0, false)
	look(knowledge.Engaged, 0, false) // for less than a minute
	look(knowledge.Engaged, 1, true)
	look(knowledge.Away, 1, true)
	look(knowledge.Away, 1, true)
	connection.owned = nil
	look(knowledge.Away, 0, true)
	connection.owned = []vsphere.VM{vm}
	look(knowledge.Away, 0, false)
	if err := r.Client.Delete(t.Context(), mc); err != nil {
		t.Fatal(err)
	}
	look(knowledge.Away, 0, true) // its cluster left, and its VMs are kept
}

func wantTold(t *testing.T, told []string, want ...string) {
	t.Helper()
	if !slices.Equal(told, want) {
		t.Errorf("notified members %v, want %v", told, want)
	}
}

func TestOrphanedVMsAreNamedAndOnceTheyAreGoneNotMentioned(t *testing.T) {
	vc, now := vcenterForTest(), time.Now()
	l := look{decided: true, health: vsphere.Health{Reachable: true, Complete: true}, orphans: []orphaned.Group{{Key: "cluster/uid", Member: "team-a", VMs: []string{"a (vm-1)", "b", "c", "d", "e", "f (vm-6)"}}}}
	vc.Status = newStatus(vc, l, now)
	c := meta.FindStatusCondition(vc.Status.Conditions, v1alpha1.ConditionOrphanedVMs)
	if c == nil || c.Status != metav1.ConditionTrue || !strings.Contains(c.Message, "6 VMs") || !strings.Contains(c.Message, "a (vm-1)") ||
		strings.Contains(c.Message, "vm-6") || !strings.Contains(c.Message, "2 more") || !strings.Contains(c.Message, "adopt=uid") {
		t.Errorf("the condition is %+v", c)
	}
	l.orphans, l.decided = nil, false
	if vc.Status = newStatus(vc, l, now); meta.FindStatusCondition(vc.Status.Conditions, v1alpha1.ConditionOrphanedVMs) == nil {
		t.Error("a search that is not complete ends the report")
	}
	l.decided = true
	if vc.Status = newStatus(vc, l, now); meta.FindStatusCondition(vc.Status.Conditions, v1alpha1.ConditionOrphanedVMs) != nil {
		t.Error("deleted VMs are still reported")
	}
}

func TestKeptVMsAreNamedAndAreNoOrphans(t *testing.T) {
	vc, now := vcenterForTest(), time.Now()
	l := look{decided: true, health: vsphere.Health{Reachable: true, Complete: true}, released: []orphaned.Group{{Key: "cluster/uid", Member: "team-a", VMs: []string{"a (vm-1)", "b", "c", "d", "e", "f (vm-6)"}}}}
	vc.Status = newStatus(vc, l, now)
	c := meta.FindStatusCondition(vc.Status.Conditions, v1alpha1.ConditionKeptVMs)
	if c == nil || c.Status != metav1.ConditionTrue || !strings.Contains(c.Message, "6 VMs") || !strings.Contains(c.Message, "a (vm-1)") || !strings.Contains(c.Message, "2 more") {
		t.Errorf("the condition is %+v", c)
	}
	if meta.FindStatusCondition(vc.Status.Conditions, v1alpha1.ConditionOrphanedVMs) != nil {
		t.Error("kept VMs are reported as orphans")
	}
	l.released, l.decided = nil, false
	if vc.Status = newStatus(vc, l, now); meta.FindStatusCondition(vc.Status.Conditions, v1alpha1.ConditionKeptVMs) == nil {
		t.Error("a search that is not complete ends the report")
	}
	l.decided = true
	if vc.Status = newStatus(vc, l, now); meta.FindStatusCondition(vc.Status.Conditions, v1alpha1.ConditionKeptVMs) != nil {
		t.Error("deleted VMs are still reported")
	}
}
