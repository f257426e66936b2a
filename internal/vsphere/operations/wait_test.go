package operations

import (
	"errors"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

var linux, windows = vsphere.VMRef("vm-linux"), vsphere.VMRef("vm-windows")

func (r *rig) inherited(applied Mark, running, ended, hanging int) {
	r.t.Helper()
	if in := r.Inherited(applied); len(in.Running) != running || len(in.Ended) != ended || len(in.Hanging) != hanging {
		r.t.Fatalf("%+v; want %d running, %d ended, %d hanging", in, running, ended, hanging)
	}
}

func TestInheritedClones(t *testing.T) {
	r := newRig(t)
	if r.Inherited(99).Known {
		t.Fatal("known before the tasks were read")
	}
	r.Inherit(10, []Untracked{{Ref: "task-1", Entity: linux, Clone: true}, {Ref: "task-2"}})
	if r.Inherited(10).Known || !r.Inherited(11).Known {
		t.Fatal("what they did before the list was read is in a listing that began later")
	}
	r.inherited(99, 1, 0, 0)
	r.TaskFailed("task-1", errors.New("x"), 100)
	r.inherited(100, 0, 1, 0)
	if !r.WantsListing(100) || r.WantsListing(101) {
		t.Error("a listing is wanted exactly until one that began later was applied")
	}
	r.inherited(101, 0, 0, 0)
}

func TestAnInheritedCloneThatHangsIsWaitedForTenMinutes(t *testing.T) {
	r := newRig(t)
	r.Inherit(10, []Untracked{{Ref: "task-1", Clone: true}, {Ref: "task-2", Clone: true, Since: r.clock.now().Add(-9 * time.Minute)}})
	r.inherited(99, 2, 0, 0)
	r.clock.advance(time.Minute)
	r.inherited(99, 1, 0, 1)
	r.clock.advance(9 * time.Minute)
	r.inherited(99, 0, 0, 2)
	if tasks := r.Tasks(); len(tasks) != 2 {
		t.Errorf("tasks to watch: %v; one that hangs may end", tasks)
	}
	r.Succeeded("task-1", vsphere.VMRef("vm-1"), 100)
	r.inherited(100, 0, 1, 1) // its VM is about to be seen
	r.inherited(101, 0, 0, 1)
}

// lostClone is the clone of a template whose reply was lost, after the maximum time in flight.
func lostClone(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	clone := request(vsphere.OpClone, 0)
	clone.Template = linux
	h, err := r.Begin(clone)
	if err != nil {
		t.Fatal(err)
	}
	h.Unknown(r.onDone)
	r.clock.advance(r.Grace)
	return r
}

func TestALostReplyIsNotLookedForInClonesThatCannotBeIt(t *testing.T) {
	r := lostClone(t)
	r.Scanned(20, []Untracked{
		{Ref: "task-other-template", Entity: windows, Clone: true, Own: true},
		{Ref: "task-of-yesterday", Entity: linux, Clone: true, Own: true, Queued: r.clock.now().Add(-24 * time.Hour)},
	})
	r.Settle(21, unseen)
	r.inFlight(0)
}

func TestALostReplyGivesItsSlotBackBeforeItsOrdinal(t *testing.T) {
	own := []Untracked{{Ref: "task-own", Entity: linux, Clone: true, Own: true}}
	r := newRig(t)
	clone := request(vsphere.OpClone, 0)
	clone.Template = linux
	lost := func() {
		t.Helper()
		h, err := r.Begin(clone)
		if err != nil {
			t.Fatal(err)
		}
		h.Unknown(r.onDone)
	}
	lost()
	r.clock.advance(slotGrace - 1)
	if r.Scanned(10, nil); len(r.done) != 0 {
		t.Fatal("the slot was given back while the request may well be on its way")
	}
	r.clock.advance(1)
	if needed, in := r.NeedsScan(); !needed || in != 0 {
		t.Fatalf("scan: %v in %v", needed, in)
	}
	if r.Scanned(11, nil); len(r.done) != 1 {
		t.Fatal("the slot is held although vCenter runs no such task")
	}
	if needed, in := r.NeedsScan(); !needed || in != r.Grace-slotGrace {
		t.Fatalf("the ordinal's scan: %v in %v", needed, in)
	}
	r.Settle(1000, unseen)
	r.inFlight(1) // no other operation begins for the ordinal
	r.clock.advance(r.Grace)
	r.Scanned(12, nil)
	r.Settle(1000, unseen)
	r.inFlight(0)

	lost()
	r.clock.advance(slotGrace)
	if r.Scanned(1010, own); len(r.done) != 1 {
		t.Fatal("the slot was given back while a task runs that may be it")
	}
	r.clock.advance(r.Grace)
	r.Scanned(1011, own)
	r.TaskFailed("task-own", errors.New("x"), 1012)
	if r.Settle(1013, unseen); len(r.done) != 2 {
		t.Errorf("the slots were given back %d times in all, want twice", len(r.done))
	}
}

func TestLostRepliesKeepNoMoreSlotsThanTasksRun(t *testing.T) {
	r := newRig(t)
	for ordinal := range int32(3) {
		clone := request(vsphere.OpClone, ordinal)
		clone.Template = linux
		h, err := r.Begin(clone)
		if err != nil {
			t.Fatal(err)
		}
		h.Unknown(r.onDone)
	}
	one := []Untracked{{Ref: "task-own", Entity: linux, Clone: true, Own: true}}
	r.clock.advance(slotGrace)
	if r.Scanned(10, one); len(r.done) != 2 {
		t.Fatalf("%d of three slots were given back while one task runs, want 2", len(r.done))
	}
	r.clock.advance(r.Grace)
	r.Scanned(11, one)
	if r.Settle(12, unseen); len(r.done) != 2 {
		t.Fatal("the slot was given back while the task runs")
	}
	r.inFlight(3)
	r.TaskFailed("task-own", errors.New("x"), 13)
	if r.Settle(14, unseen); len(r.done) != 3 {
		t.Errorf("%d slots were given back, want all", len(r.done))
	}
	r.inFlight(0)
}

func TestALostReplyHoldsNoSlotWhileOnlyOthersClone(t *testing.T) {
	r := lostClone(t)
	r.Scanned(20, []Untracked{{Ref: "task-own", Entity: linux, Clone: true, Own: true}, {Ref: "task-foreign", Entity: linux, Clone: true}})
	r.Settle(21, unseen)
	if len(r.done) != 0 {
		t.Fatal("its slot was given back while a clone of our own account ran")
	}
	r.TaskFailed("task-own", errors.New("x"), 22)
	r.Settle(23, unseen)
	if len(r.done) != 1 {
		t.Fatal("its slot is held for a foreign clone")
	}
	r.inFlight(1) // it can still be the task
	r.clock.advance(Patience)
	r.Settle(23, unseen)
	r.inFlight(0)
	if len(r.done) != 1 {
		t.Errorf("its slot was given back %d times", len(r.done))
	}
}

func TestATaskIsSeenFirstOnceByAllConnections(t *testing.T) {
	var s Sightings
	begin := time.Unix(1000, 0)
	s.See("vcenter-a", []string{"task-1", "task-2"}, begin)
	seen := s.See("vcenter-a", []string{"task-1", "task-3"}, begin.Add(time.Minute))
	if !seen["task-1"].Equal(begin) || !seen["task-3"].Equal(begin.Add(time.Minute)) {
		t.Errorf("seen: %v", seen)
	}
	if seen := s.See("vcenter-b", []string{"task-1"}, begin.Add(time.Hour)); !seen["task-1"].Equal(begin.Add(time.Hour)) {
		t.Errorf("the task of another vCenter: %v", seen)
	}
	if seen := s.See("vcenter-a", []string{"task-2"}, begin.Add(time.Hour)); !seen["task-2"].Equal(begin.Add(time.Hour)) {
		t.Errorf("a task that disappeared meanwhile: %v", seen)
	}
}
