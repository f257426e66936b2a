package model

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// task is an operation that vCenter accepted.
type task struct {
	op       vsphere.Operation
	revision string
	// name of the VM, and the CPUs of a clone.
	name string
	cpu  int32
	// effect runs at the end of the task. Its error is the reason of a failure.
	effect func() error
	// unrecorded means that a status was restored while the task ran, which can lack the task's result.
	unrecorded bool
	// done is true after its effect. The task stays in flight until the inventory shows the effect.
	done bool
}

// refusal is how calls of one kind fail.
type refusal struct {
	kind vsphere.Kind
	// times is the number of failures. late calls fail when their task ends. For lost calls, only the reply is lost, and happens is true if they reached
	// vCenter.
	times               int
	late, lost, happens bool
}

// lostFor is the time until the operator knows the result of a call with a lost reply.
const lostFor = 10 * time.Second

func fault(kind vsphere.Kind, op, why string) error {
	return &vsphere.Error{Kind: kind, Op: op, Err: errors.New(why)}
}

// submit makes vCenter accept an operation, which takes d.
func (v *vcenter) submit(t *task, d time.Duration) error {
	what := fmt.Sprintf("%s %s", t.op.Kind, t.name)
	if v.away {
		return fault(vsphere.KindTransient, what, "no route to host")
	}
	for _, other := range slices.Clone(v.tasks) {
		if other.op.Ordinal != t.op.Ordinal {
			continue
		}
		overtakes := other.op.Kind == vsphere.OpShutdownGuest && t.op.Kind != vsphere.OpShutdownGuest
		if !overtakes && !other.done {
			return fault(vsphere.KindBusy, what, "another operation is in flight")
		}
		v.end(other, nil)
	}
	t.op.Since = v.world.now
	r, refused := v.refuse[string(t.op.Kind)]
	if refused {
		if r.times--; r.times <= 0 {
			delete(v.refuse, string(t.op.Kind))
		} else {
			v.refuse[string(t.op.Kind)] = r
		}
		switch {
		case r.lost:
			t.op.OutcomeUnknown = true
			d = max(d, lostFor)
			if !r.happens {
				t.effect = nil
			}
		case r.late:
			t.effect = func() error { return fault(r.kind, what, "vCenter says no in the end") }
		default:
			err := fault(r.kind, what, "vCenter says no")
			v.failed(t, err)
			v.changed()
			return err
		}
	}
	v.tasks = append(v.tasks, t)
	v.changed()
	if t.op.Kind != vsphere.OpShutdownGuest || refused && r.lost {
		v.world.agenda.add(v.world.now.Add(d), func() { v.finish(t) })
	}
	return nil
}

// finish ends a task, whichever process waits for it.
func (v *vcenter) finish(t *task) {
	known, orphan := slices.Contains(v.tasks, t), slices.Contains(v.orphans, t)
	if !known && !orphan || t.done {
		return
	}
	t.done = true
	var err error
	if t.effect != nil {
		err = t.effect()
	}
	v.world.say("vCenter: %s %s ends: %v", t.op.Kind, t.name, err)
	switch {
	case err != nil:
		v.end(t, err)
	case known && v.pace.settle > 0:
		v.succeeded(t)
		v.world.agenda.add(v.world.now.Add(v.pace.settle), func() { v.end(t, nil) })
		v.changed()
	default:
		if t.effect != nil {
			v.succeeded(t)
		}
		v.end(t, nil)
	}
}

// end removes a task from flight, with its error.
func (v *vcenter) end(t *task, err error) {
	is := func(other *task) bool { return other == t }
	if err != nil && slices.Contains(v.tasks, t) {
		v.failed(t, err)
	}
	t.done = true
	if m := v.vm(t.op.VM.Value); m != nil && t.op.Kind == vsphere.OpShutdownGuest {
		m.asked = false // it is still on, and no process waits for it any more
	}
	v.tasks = slices.DeleteFunc(v.tasks, is)
	v.orphans = slices.DeleteFunc(v.orphans, is)
	v.changed()
}

// failed records a failure and schedules the retry.
func (v *vcenter) failed(t *task, err error) {
	f := &vsphere.Failure{Kind: t.op.Kind, Ordinal: t.op.Ordinal, VM: t.op.VM, Err: err, At: v.world.now, Count: 1, Revision: t.revision}
	v.failures = slices.DeleteFunc(v.failures, func(last *vsphere.Failure) bool {
		if last.Kind != f.Kind || last.Ordinal != f.Ordinal {
			return false
		}
		if last.Revision == f.Revision {
			f.Count = last.Count + 1
		}
		return true
	})
	f.RetryAt = f.At.Add(pause(vsphere.KindOf(err), f.Count))
	v.failures = append(v.failures, f)
}

// succeeded forgets earlier failures of the ordinal. A failed change of a VM is remembered until it succeeds, or another VM replaces it.
func (v *vcenter) succeeded(t *task) {
	if !slices.Contains(v.tasks, t) {
		return
	}
	v.failures = slices.DeleteFunc(v.failures, func(f *vsphere.Failure) bool {
		return f.Ordinal == t.op.Ordinal && (f.Kind != vsphere.OpReconfigure || t.op.Kind == vsphere.OpReconfigure || t.op.Kind == vsphere.OpClone)
	})
}

// pause is the operator's wait after consecutive failures. Transient failures are retried soon, and failures that need a user every few minutes.
func pause(kind vsphere.Kind, count int) time.Duration {
	first, last := time.Minute, 10*time.Minute
	switch kind {
	case vsphere.KindTransient, vsphere.KindBusy:
		first, last = 2*time.Second, 2*time.Minute
	case vsphere.KindCapacity:
		first = 30 * time.Second
	case vsphere.KindConflict, vsphere.KindNotFound:
		first, last = time.Second, 10*time.Second
	case vsphere.KindNotEmpty:
		first, last = 5*time.Second, time.Minute
	}
	for ; count > 1 && first < last; count-- {
		first *= 2
	}
	return min(first, last)
}

// takeover makes the tasks of the old process orphans: the new process does not know them. They continue.
func (v *vcenter) takeover() {
	for _, t := range v.tasks {
		if !t.done {
			v.orphans = append(v.orphans, t)
		}
	}
	v.tasks, v.failures = nil, nil
}

// inherits reports whether clones of another process run, which can be the group's.
func (v *vcenter) inherits() bool {
	return slices.ContainsFunc(v.orphans, func(t *task) bool { return t.op.Kind == vsphere.OpClone })
}

// marking reports whether a VM is being marked for destruction or released.
func (v *vcenter) marking(m *machine) bool {
	return slices.ContainsFunc(slices.Concat(v.tasks, v.orphans), func(t *task) bool {
		leaves := t.op.Kind == vsphere.OpMark || t.op.Kind == vsphere.OpRelease
		return leaves && t.op.VM.Value == m.ref && !t.done
	})
}
