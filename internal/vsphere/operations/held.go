package operations

import (
	"errors"
	"slices"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// holdFor is how long a clone that ended may be held: see Held.
const holdFor = 2 * time.Minute

var errAstray = errors.New("the VM of the clone is outside of the operator's root folder; move its folder back, or delete it")

// Effect describes an operation whose effect is looked for.
type Effect struct {
	Request
	// VM is that of the request, or the one that a finished clone made or found.
	VM vsphere.Ref
	// Found is true when the clone did not make the VM: see Tracker.Found.
	Found bool
	// Unknown is true when the reply was lost.
	Unknown bool
}

// Sight is what the inventory shows of an operation's effect.
type Sight int

// What the inventory may show.
const (
	Unseen Sight = iota
	// Seen: the effect is there, or can never be.
	Seen
	// Held: the VM of a clone has no fate yet, or only the operation tells whose it is. The operation stays in flight
	// until the group has recorded the VM (Claimed), acts on it, or two minutes have passed.
	Held
	// Astray: the VM of a clone is outside of the root folder. The clone has failed.
	Astray
)

// Found says that a clone ended because vm has its name already and looks like the wanted one. It is awaited like
// one that the task made, but not shown as the operation's: nothing proves that we made it.
func (t *Tracker) Found(task string, vm vsphere.Ref, at Mark) {
	t.ended(task, at, true, func(op *operation) {
		op.state, op.ended, op.endedAt, op.VM, op.found = settling, at, t.now(), vm, true
	})
}

// Claimed says which VMs the group has recorded: a clone that is held for one of them has done its service.
func (t *Tracker) Claimed(group vsphere.GroupKey, known []vsphere.Ref) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, op := range t.ops[group] {
		if op.held && !op.found && slices.Contains(known, op.VM) {
			t.remove(op.Key)
		}
	}
}

// settled decides over an operation that has ended: remove says that nothing is to be waited for any more, again that
// its group must look again although it stays, or has failed. The lock is held.
func (t *Tracker) settled(op *operation, sight Sight, applied Mark, now time.Time) (remove, again bool) {
	switch {
	case sight == Astray:
		t.fail(op, &vsphere.Error{Kind: vsphere.KindForeign, Op: "clone " + op.Name, Object: op.VM, Err: errAstray})
		return false, true
	case sight == Held && now.Sub(op.endedAt) < holdFor:
		op.held = true
		return false, true
	}
	remove = sight == Seen || applied > op.ended
	if remove && op.found {
		t.failures.Succeeded(op.Key, op.Kind)
	}
	return remove, false
}
