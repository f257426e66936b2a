package vmgroup

import (
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
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

// slotsOf is a vCenter of which nothing is asked but slots.
type slotsOf struct {
	vsphere.Server
	budget *budget.Budget
}

// GroupChanged does nothing: no group waits in a queue.
func (slotsOf) GroupChanged(vsphere.GroupKey) {}

func (s slotsOf) Acquire(key vsphere.GroupKey, host string, want int) vsphere.Slots {
	return s.budget.Acquire(string(key), host, want)
}

// The pass at the end of a clone cannot see the VM yet. It gave up the group's turn, so that beside many groups that waited the VM was powered on after
// all of theirs had been cloned.
func TestAVMThatIsClonedAndNotSeenYetKeepsItsGroupsTurn(t *testing.T) {
	const host = "h"
	vcenter := slotsOf{budget: budget.New(budget.Limits{Tasks: 1}, slotsOf{})}
	s := &group.Snapshot{ID: vsphere.GroupID{Member: "m", Group: "u"}}
	key, other := s.ID.Key(), vsphere.KeyOf("m", "other")
	slot := vcenter.Acquire(key, host, 1)
	done := vcenter.budget.Start(string(key), host)
	slot.Release()
	vcenter.Acquire(other, host, 1)
	done(true)

	s.Observation.InFlight = []vsphere.Operation{{Kind: vsphere.OpClone}}
	_, slots := limit(vcenter, s, group.Decision{})
	slots.Release()

	s.Observation.InFlight = nil
	todo, slots := limit(vcenter, s, group.Decision{Plan: plan.Plan{Actions: []plan.Action{{Kind: plan.PowerOnVM}}}})
	if len(todo.Actions) != 1 {
		t.Error("another group gets the slot before the VM that was cloned is powered on")
	}
	slots.Release()
}

// Otherwise a new group waits for a worker behind all that were edited at once, each time that one of its tasks has ended.
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
		if urgent := r.limiter.urgency.take(r.request); urgent != step.urgent {
			t.Errorf("%s: urgent %t, want %t", step.story, urgent, step.urgent)
		}
	}
}
