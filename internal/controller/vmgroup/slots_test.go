package vmgroup

import (
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/budget"
)

// A vCenter keeps a slot for groups that hold none. A group whose VMs are updated lacks nothing; one that has lost a VM does.
func TestAnUpdateLeavesTheLastSlotToGroupsThatLackAVM(t *testing.T) {
	r := rolls(t, 3)
	r.vcenter.SetLimits(budget.Limits{Tasks: 8})
	const host = "any"
	if n := r.vcenter.Acquire(vsphere.KeyOf("member-uid", "giant"), host, 8).Granted(); n != 7 {
		t.Fatalf("the giant got %d slots of 8", n)
	}
	r.edit(withTemplate("debian-13"))
	r.work()
	if calls := r.vcenter.Calls(vsphere.OpClone); len(calls) != 0 {
		t.Fatalf("an update took the last slot: %v", calls)
	}
	r.vcenter.ByHand().Delete("web-1")
	r.work()
	if calls := r.vcenter.Calls(vsphere.OpClone); len(calls) != 1 {
		t.Errorf("a group that lacks a VM did not get the last slot: %v", calls)
	}
}

// Otherwise a new group waits for a worker behind all edited groups, each time that one of its tasks has ended.
func TestAGroupThatLacksVMsIsLookedAtBeforeThoseThatAreUpdated(t *testing.T) {
	r := newRig(t)
	for _, step := range []struct {
		story  string
		do     func()
		urgent bool
	}{
		{"its VMs are cloned", func() { r.mustPass(); r.mustPass() }, true},
		{"it has its VMs", func() { r.settle() }, false},
		{"it is updated", func() { r.edit(withTemplate("debian-13")); r.mustPass() }, false},
		{"it loses a VM in the middle", func() { r.vcenter.ByHand().Delete("web-1"); r.mustPass() }, true},
	} {
		step.do()
		if urgent := r.isUrgent(); urgent != step.urgent {
			t.Errorf("%s: urgent %t, want %t", step.story, urgent, step.urgent)
		}
	}
}
