package operations

import (
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

var (
	datacenter = vsphere.Ref{Type: vsphere.TypeDatacenter, Value: "datacenter-1"}
	one, two   = vsphere.VMRef("vm-1"), vsphere.VMRef("vm-2")
)

// placing begins a power-on through the datacenter.
func (r *rig) placing(ordinal int32, vm vsphere.Ref) *Handle {
	r.t.Helper()
	power := request(vsphere.OpPowerOn, ordinal)
	power.VM, power.Datacenter = vm, datacenter
	h, err := r.Begin(power)
	if err != nil {
		r.t.Fatal(err)
	}
	return h
}

func TestAPowerOnGoesOnInTheTaskOfItsVMWithItsSlot(t *testing.T) {
	r := newRig(t)
	r.placing(0, one).Accepted("task-place", r.onDone)
	r.placing(1, two).Accepted("task-other", r.onDone)
	told := r.told
	r.Continues("task-place", map[vsphere.Ref]string{one: "task-on"}, 5)
	if r.told != told+1 {
		t.Errorf("the group was notified %d times, want once", r.told-told)
	}
	if tasks := r.Tasks(); len(tasks) != 2 || !r.Tracks("task-on") || !r.Tracks("task-other") || r.Tracks("task-place") {
		t.Fatalf("tasks to watch: %v", tasks)
	}
	if ops := r.InFlight("g"); ops[0].Task != "task-on" || ops[0].OutcomeUnknown || len(r.done) != 0 {
		t.Fatalf("in flight: %+v, slots freed: %v", ops, r.done)
	}
	r.Succeeded("task-place", vsphere.Ref{}, 6)
	if len(r.done) != 0 {
		t.Fatal("the slot was given back with the task that placed the VM")
	}
	r.Succeeded("task-on", vsphere.Ref{}, 7)
	if len(r.done) != 1 || !r.done[0] {
		t.Errorf("slots freed: %v, want one", r.done)
	}
}

func TestAPowerOnWithoutATaskIsLookedForAmongTheTasks(t *testing.T) {
	r := newRig(t)
	r.placing(0, one).Accepted("task-place", r.onDone)
	r.Continues("task-place", map[vsphere.Ref]string{one: ""}, 5)
	if ops := r.InFlight("g"); len(ops) != 1 || !ops[0].OutcomeUnknown || len(r.done) != 0 {
		t.Fatalf("in flight: %+v, slots freed: %v", ops, r.done)
	}
	r.clock.advance(r.Grace)
	r.Scanned(10, []Untracked{{Ref: "task-on", Entity: one}, {Ref: "task-two", Entity: two}})
	r.Settle(11, unseen)
	if ops := r.InFlight("g"); len(ops) != 1 || ops[0].Task != "task-on" {
		t.Fatalf("in flight: %+v", ops)
	}
	r.Succeeded("task-on", vsphere.Ref{}, 12)
	r.Settle(13, unseen)
	r.inFlight(0)
	if len(r.done) != 1 {
		t.Errorf("the slot was given back %d times", len(r.done))
	}
}

// lostPlacing is a power-on through the datacenter whose reply was lost. It has vCenter's tasks at the query for
// the slot, and at that for the operation.
func lostPlacing(t *testing.T, first, second []Untracked) *rig {
	t.Helper()
	r := newRig(t)
	r.placing(0, one).Unknown(r.onDone)
	r.clock.advance(slotGrace)
	r.Scanned(10, first)
	r.clock.advance(r.Grace)
	r.Scanned(11, second)
	r.Settle(12, unseen)
	return r
}

func TestALostReplyOfAPlacingIsFollowedToTheTaskOfTheVM(t *testing.T) {
	place, other := Untracked{Ref: "task-place", Entity: datacenter, Own: true}, Untracked{Ref: "task-other", Entity: datacenter}
	on := Untracked{Ref: "task-on", Entity: one}
	for story, c := range map[string]struct {
		second []Untracked
		then   func(r *rig)
	}{
		"it is still being placed": {[]Untracked{place, other}, func(r *rig) {
			r.Continues("task-other", map[vsphere.Ref]string{two: "task-two"}, 20)
			r.Continues("task-place", map[vsphere.Ref]string{one: "task-on"}, 21)
		}},
		"it was placed, and its task is not named": {[]Untracked{place}, func(r *rig) {
			r.Continues("task-place", map[vsphere.Ref]string{one: ""}, 20)
			r.Settle(21, unseen)
			r.clock.advance(r.Grace)
			r.Scanned(21, []Untracked{on})
		}},
		"it was placed meanwhile": {[]Untracked{on}, func(*rig) {}},
	} {
		r := lostPlacing(t, []Untracked{place}, c.second)
		c.then(r)
		r.Settle(22, unseen)
		if ops := r.InFlight("g"); len(ops) != 1 || ops[0].Task != "task-on" || len(r.done) != 0 {
			t.Fatalf("%s: in flight: %+v, slots freed: %v", story, ops, r.done)
		}
		r.Succeeded("task-on", vsphere.Ref{}, 30)
		r.Settle(31, unseen)
		r.inFlight(0)
		if len(r.done) != 1 {
			t.Errorf("%s: slots freed: %v", story, r.done)
		}
	}
}

// A task of the datacenter does not name the VM that it places.
func TestALostReplyDoesNotWaitWithoutEndForThePlacingOfAnotherVM(t *testing.T) {
	r := lostPlacing(t, nil, []Untracked{{Ref: "task-other", Entity: datacenter}, {Ref: "task-old", Entity: datacenter, Queued: newRig(t).clock.now().Add(-Patience * 2)}})
	if tasks := r.Tasks(); len(tasks) != 1 || tasks[0].Ref != "task-other" {
		t.Fatalf("tasks to watch: %v", tasks)
	}
	r.inFlight(1)
	r.clock.advance(Patience)
	r.Settle(13, unseen)
	r.inFlight(0)
}

func TestAPowerOnOfTheVMItselfHasNothingToDoWithADatacenter(t *testing.T) {
	r := newRig(t)
	r.begin(vsphere.OpPowerOn, 0).Unknown(r.onDone)
	r.clock.advance(r.Grace)
	r.Scanned(11, []Untracked{{Ref: "task-other", Entity: datacenter}})
	r.Settle(12, unseen)
	r.inFlight(0)
}
