package operations

import (
	"errors"
	"slices"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// holdFor is the maximum time for which an ended clone is held: see Held.
const holdFor = 2 * time.Minute

var errAstray = errors.New("the VM of the clone is outside of the operator's root folder; move its folder back, or delete it")

// Effect describes an operation whose effect is awaited.
type Effect struct {
	Request
	// VM is the VM of the request, or the one that an ended clone created or found.
	VM vsphere.Ref
	// Found is true if the clone did not create the VM: see Tracker.Found.
	Found bool
	// Unknown is true if the reply was lost.
	Unknown bool
}

// Sight is what the inventory shows of an operation's effect.
type Sight int

// Sights.
const (
	Unseen Sight = iota
	// Seen: the effect is visible, or can never become visible.
	Seen
	// Held: the VM of a clone has no verdict yet, or only the operation identifies its owner. The operation stays in
	// flight until the group has recorded the VM (Claimed) or acts on it, or for at most two minutes.
	Held
	// Astray: the VM of a clone is outside of the root folder. The clone has failed.
	Astray
)

// Found records that a clone ended because vm already has its name and resembles the wanted VM. The VM is awaited like
// one that the task created, but not shown as the operation's VM: nothing proves that the operation created it.
func (t *Tracker) Found(task string, vm vsphere.Ref, at Mark) {
	t.ended(task, at, true, func(op *operation) {
		op.state, op.ended, op.endedAt, op.VM, op.found = settling, at, t.now(), vm, true
	})
}

// Claimed passes the VMs that the group has recorded. A clone that is held for one of them is removed.
func (t *Tracker) Claimed(group vsphere.GroupKey, known []vsphere.Ref) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, op := range t.ops[group] {
		if op.held && !op.found && slices.Contains(known, op.VM) {
			t.remove(op)
		}
	}
}

// settled decides about an ended operation. If remove is true, the wait is over. If again is true, the group must
// observe again, because the operation stays or has failed. The caller holds the lock.
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
