package vsphere

import "time"

// Epoch is the fencing number that an owner stamp carries.
type Epoch struct {
	Generation, Number int64
}

// Stamp is the proof of ownership in a VM's extraConfig. It is written with the clone, so that a VM without
// one was never ours. A copy made by hand carries a copied stamp: see the identity rules in docs/concepts.md.
type Stamp struct {
	GroupID
	// Ordinal of the VM within its group.
	Ordinal int32
	// Incarnation counts replacements of this ordinal.
	Incarnation int32
	// Revision of the spec that the VM was cloned with, of at most LongestRevision bytes.
	Revision string
	// CloneMode that was used: Full or Linked. It has at most LongestCloneMode bytes.
	CloneMode string
	// Epoch of the controller that cloned it.
	Epoch Epoch
	// Created is when the clone was submitted, to the second, by the operator's clock. Of a VM that was adopted it is what the VM had before, if
	// it had one.
	Created time.Time
	// UUID is the instance UUID that a VM had when it was adopted. It tells that VM from a copy, since only the UUID of a clone follows from
	// group and ordinal. Empty for a VM that was cloned.
	UUID string
}

// What a stamp says is shown in status, which has no room for more. Somebody else may have written it.
const (
	LongestRevision  = 64
	LongestCloneMode = 32
)

// ReleaseKey is the key in a VM's extraConfig that holds a ReleaseMark.
const ReleaseKey = "vmgroup.retained"

// ReleaseMark is what a VM carries in its extraConfig in place of the stamp once it was released and kept: so that it can be counted, and
// taken by another group of the namespace. It gives nobody a right to the VM: the VM is nobody's.
type ReleaseMark struct {
	// GroupID is that of the stamp that the mark replaced. It names the group that released the VM, which may be gone.
	GroupID
	// Namespace of the group. Nothing else tells it once the group is gone.
	Namespace string
	// Ordinal that the VM had in the group.
	Ordinal int32
	// Revision that the VM was cloned with, of at most LongestRevision bytes. What it says beyond the VM's size cannot be seen of the VM.
	Revision string
	// UUID is that of the stamp.
	UUID string
}

// Of reports whether m was left by the release of this very target. A nil mark was not.
func (m *ReleaseMark) Of(t Target) bool {
	return m != nil && m.GroupID == t.ID && m.Ordinal == t.Ordinal
}
