package vsphere

// Reconfiguration is what shall become different of a VM that stays. What is zero is left as it is.
type Reconfiguration struct {
	Target
	// Revision that the stamp says from then on: it is written in the same step.
	Revision string
	// CPU is the number of virtual CPUs.
	CPU int32
	// MemoryMiB is the memory in MiB.
	MemoryMiB int64
	// Network that the VM's first network adapter is connected to. The adapter keeps its address.
	Network Ref
}

// Done reports whether a VM is like that already, as far as an observation shows: it does not show the network.
func (r Reconfiguration) Done(vm VM) bool {
	return (r.Revision == "" || vm.Stamp != nil && vm.Stamp.Revision == r.Revision) &&
		(r.CPU == 0 || vm.CPU == r.CPU) && (r.MemoryMiB == 0 || vm.MemoryMiB == r.MemoryMiB)
}
