package operations

import "github.com/codeconnect/vmgroup-operator/internal/vsphere"

// Continues records that a task ended, as seen at a mark, and that other tasks continue its work. next has the task of each affected VM, or "" if
// vCenter names none. An operation follows its VM, with its slot. Without a task, the operation is searched for among vCenter's tasks, as after a
// lost reply.
func (t *Tracker) Continues(task string, next map[vsphere.Ref]string, at Mark) {
	var groups []vsphere.GroupKey
	t.mu.Lock()
	now := t.now()
	for op := range t.all {
		ref, goesOn := next[op.VM]
		if t.tasks[task] == op && goesOn {
			delete(t.tasks, task)
			if op.task = ref; ref == "" {
				op.state, op.lostAt = unknown, now
			} else {
				t.tasks[ref] = op
			}
			groups = append(groups, op.Group)
		}
		switch {
		case !goesOn || op.wait == nil || op.wait.tasks[task] == nil:
		case ref == "":
			op.wait, op.lostAt = nil, now // the list of tasks is read again
		default:
			op.wait.add(Untracked{Ref: ref, Entity: op.VM}, now)
			if op.slotTask == task {
				op.slotTask = ref
			}
		}
	}
	for _, w := range t.waits() {
		w.end(task, at)
	}
	t.mu.Unlock()
	for _, g := range groups {
		t.notifier.GroupChanged(g)
	}
}
