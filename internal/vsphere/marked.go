package vsphere

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
