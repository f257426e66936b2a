package vsphere

import "time"

// Epoch is the fencing number that an owner stamp carries.
type Epoch struct {
	Generation, Number int64
}

// Stamp is the proof of ownership in a VM's extraConfig. It is written with the clone, so that a VM without
// one was never ours. A copy made by hand carries a copied stamp: see the identity rules in docs/explanation/concepts.md.
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

// Marked is a VM that carries a group's stamp or its release mark, as far as it counts in a sum.
type Marked struct {
	// Installation that the stamp names; empty for a VM with a release mark.
	Installation string
	// Namespace that the release mark names; empty for a VM with a stamp.
	Namespace string
	// Released is true for a VM with a release mark.
	Released bool
	Ordinal  int32
	// Folder that the VM lies in.
	Folder Ref
	// CPU is the number of virtual CPUs, MemoryMiB the memory in MiB.
	CPU       int32
	MemoryMiB int64
	// Tombstone is true once the operator decided to destroy the VM.
	Tombstone bool
}

// MarkedOf returns what counts of a VM, or false for one without a stamp and a release mark.
func MarkedOf(vm *VM) (m Marked, ok bool) {
	m = Marked{Folder: vm.Folder, CPU: vm.CPU, MemoryMiB: vm.MemoryMiB, Tombstone: vm.Tombstone}
	switch {
	case vm.Stamp != nil:
		m.Installation, m.Ordinal = vm.Stamp.Installation, vm.Stamp.Ordinal
	case vm.Released != nil:
		m.Released, m.Namespace, m.Ordinal = true, vm.Released.Namespace, vm.Released.Ordinal
	default:
		return m, false
	}
	return m, true
}

// Stray is a VM outside of the operator's root folder that carries this installation's stamp.
type Stray struct {
	Ref Ref
	// Path is its inventory path, or only its name if the path cannot be read.
	Path string
}

// Strays is what a look through a whole vCenter found.
type Strays struct {
	// At is when it was looked at; zero before the first look.
	At time.Time
	// Count is how many there are; VMs names the first of them, sorted by reference.
	Count int
	VMs   []Stray
	// Limits says, as the end of a sentence, where the account may not look; empty if it may look everywhere.
	Limits string
}
