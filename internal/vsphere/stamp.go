package vsphere

import "time"

// Epoch is the fencing number that an owner stamp carries.
type Epoch struct {
	Generation, Number int64
}

// Stamp is the proof of ownership in a VM's extraConfig. It is written with the clone, so that the operator never owned a VM without one. A
// manual copy carries a copied stamp: see the identity rules in docs/explanation/concepts.md.
type Stamp struct {
	GroupID
	// Ordinal of the VM within its group.
	Ordinal int32
	// Incarnation counts replacements of this ordinal.
	Incarnation int32
	// Revision of the spec that the VM was cloned with, at most LongestRevision bytes.
	Revision string
	// CloneMode of the clone: Full or Linked. It has at most LongestCloneMode bytes.
	CloneMode string
	// Epoch of the controller that cloned it.
	Epoch Epoch
	// Created is the submission time of the clone, to the second, by the operator's clock. An adopted VM keeps its earlier value, if it had one.
	Created time.Time
	// UUID is the instance UUID of an adopted VM at adoption. It distinguishes the VM from a copy, since only a clone's UUID derives from group
	// and ordinal. It is empty for a VM that was cloned.
	UUID string
}

// Linked reports whether the VM was made as a linked clone.
func (s Stamp) Linked() bool { return s.CloneMode == "Linked" }

// Limits of stamp values, in bytes. Status shows the values and has no room for more, and another party can have written them.
const (
	LongestRevision  = 64
	LongestCloneMode = 32
)

// ReleaseKey is the key in a VM's extraConfig that holds a ReleaseMark.
const ReleaseKey = "vmgroup.retained"

// ReleaseMark replaces the stamp in the extraConfig of a VM that was released and kept. It makes the VM countable, and another group of the
// namespace can adopt the VM. It gives no right to the VM: the VM has no owner.
type ReleaseMark struct {
	// GroupID of the replaced stamp. It names the group that released the VM. That group can be deleted already.
	GroupID
	// Namespace of the group. After the group's deletion, only the mark records it.
	Namespace string
	// Ordinal that the VM had in the group.
	Ordinal int32
	// Revision that the VM was cloned with, at most LongestRevision bytes. Except for the size, the VM does not show the revision's content.
	Revision string
	// UUID of the replaced stamp.
	UUID string
}

// Of reports whether the release of this target left the mark. For a nil mark it returns false.
func (m *ReleaseMark) Of(t Target) bool {
	return m != nil && m.GroupID == t.ID && m.Ordinal == t.Ordinal
}

// Marked is the part of a VM with a group's stamp or release mark that counts in a sum.
type Marked struct {
	// Installation in the stamp. It is empty for a VM with a release mark.
	Installation string
	// Namespace in the release mark. It is empty for a VM with a stamp.
	Namespace string
	// Released is true for a VM with a release mark.
	Released bool
	Ordinal  int32
	// Folder that the VM lies in.
	Folder Ref
	// CPU is the number of virtual CPUs, MemoryMiB the memory in MiB.
	CPU       int32
	MemoryMiB int64
	// RootDiskGiB and DataDisks are as in VM.
	RootDiskGiB int32
	DataDisks   DataDisks
	// Tombstone is true once the operator decided to destroy the VM.
	Tombstone bool
}

// MarkedOf returns the countable part of a VM, or false for a VM with neither stamp nor release mark.
func MarkedOf(vm *VM) (m Marked, ok bool) {
	m = Marked{Folder: vm.Folder, CPU: vm.CPU, MemoryMiB: vm.MemoryMiB, RootDiskGiB: vm.RootDiskGiB, DataDisks: vm.DataDisks, Tombstone: vm.Tombstone}
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
	// Path is the inventory path, or only the name if the path is unreadable.
	Path string
}

// Strays is the result of a search through a whole vCenter.
type Strays struct {
	// At is the time of the search, or zero before the first one.
	At time.Time
	// Count is the number of strays. VMs names the first of them, sorted by reference.
	Count int
	VMs   []Stray
	// Limits describes, as the end of a sentence, where the account cannot read. It is empty if the account can read everything.
	Limits string
}
