package failover

import (
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }

func TestAHistoryKnowsProcessAndGroupOfEachCall(t *testing.T) {
	const uid = "0a1b2c3d-0000-4000-8000-000000000000"
	agent := func(boot string) sim.Kind {
		return sim.Kind{UserAgent: "vmgroup-operator/dev (installation i; vcenter default; boot " + boot + "; session 1)"}
	}
	record := func(boot, method, object, name, group, task string) sim.Record {
		r := sim.Record{Call: sim.Call{Kind: agent(boot), Object: object, Name: name, Group: group}, Task: task, Outcome: "ok"}
		r.Method = method
		r.Start, r.Answered, r.End = at(1), at(2), at(3)
		return r
	}
	epoch := record("b1", "CloneVM_Task", "vm-1", "g-0", uid, "task-1")
	epoch.Epoch = "4.2"
	gone := record("b1", "PowerOnVM_Task", "vm-2", "", uid, "")
	gone.Answered, gone.Closed, gone.End = time.Time{}, at(5), at(90)
	open := record("b1", "PowerOffVM_Task", "vm-2", "", uid, "")
	open.Answered, open.End, open.Outcome = time.Time{}, time.Time{}, ""
	person := record("b1", "Destroy_Task", "vm-2", "", uid, "")
	person.UserAgent = "a person"
	h := NewHistory([]sim.Record{
		record("b1", "CreateFolder", "group-v1", "team-a", "", "group-v2"),
		record("b1", "CreateFolder", "group-v2", "g.0a1b2c3d", "", "group-v3"),
		record("b1", "CreateFolder", "group-v2", "h.ffffffff", "", "group-v4"),
		epoch, gone, open, person,
		record("b2", "CancelTask", "task-1", "", "", ""),
		record("b2", "Destroy_Task", "group-v3", "", "", ""),
		record("b2", "Destroy_Task", "group-v4", "", "", ""),
	})
	if h.Shared != 1 || len(h.Calls) != 8 {
		t.Fatalf("%d shared calls and %d of groups: %v", h.Shared, len(h.Calls), h.Calls)
	}
	for i, want := range []struct {
		boot, method, group string
		end                 time.Time
	}{
		{"b1", "CreateFolder", uid, at(2)}, {"b1", "CreateFolder", "ffffffff", at(2)}, {"b1", "CloneVM_Task", uid, at(2)},
		{"b1", "PowerOnVM_Task", uid, at(5)}, {"b1", "PowerOffVM_Task", uid, time.Time{}}, {"b2", "CancelTask", uid, at(2)},
		{"b2", "Destroy_Task", uid, at(2)}, {"b2", "Destroy_Task", "ffffffff", at(2)},
	} {
		c := h.Calls[i]
		if c.Boot != want.boot || c.Method != want.method || c.Group != want.group || !c.End.Equal(want.end) {
			t.Errorf("call %d is %+v, want %+v", i, c, want)
		}
	}
	if given := h.GivenUp(); len(given) != 1 || given[0].Method != "PowerOnVM_Task" || !given[0].Finished.Equal(at(90)) {
		t.Errorf("given up: %v", given)
	}
	if e := h.Calls[2].Epoch; e != (Epoch{Generation: 4, Number: 2}) {
		t.Errorf("epoch %v", e)
	}
	if n := len(h.Since(at(3)).Calls); n != 2 {
		t.Errorf("%d calls were not over, want the one that was given up later and the one under way", n)
	}
	if n := len(h.Of("b2").Calls); n != 3 {
		t.Errorf("%d calls of b2", n)
	}
}
