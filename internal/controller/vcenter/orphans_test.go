package vcenter

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func TestAVMIsAnOrphanWhenItHasBeenOneForAWhile(t *testing.T) {
	var o orphans
	noon := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration, vms ...string) []string {
		return o.look("vc", noon.Add(d), func() []string { return vms })
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

func TestOrphanedVMsAreNamedWithTheirFolder(t *testing.T) {
	c := &connectionForTest{}
	got := orphanNames([]vsphere.VM{
		{Name: "web-0", Ref: vsphere.VMRef("vm-1"), Folder: vsphere.FolderRef("group-7")},
		{Name: "db-0", Ref: vsphere.VMRef("vm-2"), Folder: vsphere.FolderRef("group-9")},
	}, c.FolderPath)
	if want := []string{"web-0 (vm-1) in /DC0/vm/vm-operator/team-a/shop/web.0a1b2c3d", "db-0 (vm-2)"}; !slices.Equal(got, want) {
		t.Errorf("named %q, want %q", got, want)
	}
}

func TestOrphanedVMsAreNamedAndOnceTheyAreGoneNotMentioned(t *testing.T) {
	vc, now := vcenterForTest(), time.Now()
	l := look{health: vsphere.Health{Reachable: true, Complete: true}, orphans: []string{"a (vm-1)", "b", "c", "d", "e", "f (vm-6)"}}
	vc.Status = newStatus(vc, l, now)
	c := meta.FindStatusCondition(vc.Status.Conditions, v1alpha1.ConditionOrphanedVMs)
	if c == nil || c.Status != metav1.ConditionTrue || !strings.Contains(c.Message, "6 VMs") || !strings.Contains(c.Message, "a (vm-1)") ||
		strings.Contains(c.Message, "vm-6") || !strings.Contains(c.Message, "1 more") {
		t.Errorf("the condition is %+v", c)
	}
	l.orphans, l.health.Complete = nil, false
	if vc.Status = newStatus(vc, l, now); meta.FindStatusCondition(vc.Status.Conditions, v1alpha1.ConditionOrphanedVMs) == nil {
		t.Error("an inventory that is not complete ends the report")
	}
	l.health.Complete = true
	if vc.Status = newStatus(vc, l, now); meta.FindStatusCondition(vc.Status.Conditions, v1alpha1.ConditionOrphanedVMs) != nil {
		t.Error("VMs that are gone are still reported")
	}
}

func TestKeptVMsAreNamedAndAreNoOrphans(t *testing.T) {
	vc, now := vcenterForTest(), time.Now()
	l := look{health: vsphere.Health{Reachable: true, Complete: true}, released: []string{"a (vm-1)", "b", "c", "d", "e", "f (vm-6)"}}
	vc.Status = newStatus(vc, l, now)
	c := meta.FindStatusCondition(vc.Status.Conditions, v1alpha1.ConditionReleasedVMs)
	if c == nil || c.Status != metav1.ConditionTrue || !strings.Contains(c.Message, "6 VMs") || !strings.Contains(c.Message, "a (vm-1)") || !strings.Contains(c.Message, "1 more") {
		t.Errorf("the condition is %+v", c)
	}
	if meta.FindStatusCondition(vc.Status.Conditions, v1alpha1.ConditionOrphanedVMs) != nil {
		t.Error("kept VMs are reported as orphans")
	}
	l.released, l.health.Complete = nil, false
	if vc.Status = newStatus(vc, l, now); meta.FindStatusCondition(vc.Status.Conditions, v1alpha1.ConditionReleasedVMs) == nil {
		t.Error("an inventory that is not complete ends the report")
	}
	l.health.Complete = true
	if vc.Status = newStatus(vc, l, now); meta.FindStatusCondition(vc.Status.Conditions, v1alpha1.ConditionReleasedVMs) != nil {
		t.Error("VMs that are gone are still reported")
	}
}
