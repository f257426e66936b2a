package vsphere

import "fmt"

// HotAdd is what a VM can get more of while it runs.
type HotAdd struct {
	// CPU and Memory are true if it can get more of them at all.
	CPU, Memory bool
	// CoresPerSocket is what the number of CPUs must be a multiple of; zero if vCenter does not tell.
	CoresPerSocket int32
	// MemoryLimitMiB is what the memory can grow to, MemoryStepMiB what it grows by a multiple of; zero if vCenter does not tell.
	MemoryLimitMiB, MemoryStepMiB int64
}

// CanHotAdd reports whether a VM can get this size without being powered off, and if not, why, as a part of a sentence. A VM that is off can get any size:
// it is not asked here. vCenter may refuse what it is true for, since the guest and the host have a say, too.
func CanHotAdd(vm VM, cpu int32, memoryMiB int64) (can bool, why string) {
	has, grows := vm.HotAdd, memoryMiB-vm.MemoryMiB
	switch {
	case cpu < vm.CPU:
		return false, fmt.Sprintf("a running VM cannot go from %d to %d CPUs", vm.CPU, cpu)
	case grows < 0:
		return false, fmt.Sprintf("a running VM cannot go from %d to %d MiB of memory", vm.MemoryMiB, memoryMiB)
	case cpu > vm.CPU && !has.CPU:
		return false, "CPU hot add is not enabled for the VM"
	case cpu > vm.CPU && has.CoresPerSocket > 0 && cpu%has.CoresPerSocket != 0:
		return false, fmt.Sprintf("the VM has %d cores per socket, and %d CPUs are no multiple of that", has.CoresPerSocket, cpu)
	case grows > 0 && !has.Memory:
		return false, "memory hot add is not enabled for the VM"
	case grows > 0 && has.MemoryLimitMiB > 0 && memoryMiB > has.MemoryLimitMiB:
		return false, fmt.Sprintf("the memory of the VM can grow to %d MiB while it runs", has.MemoryLimitMiB)
	case grows > 0 && has.MemoryStepMiB > 0 && grows%has.MemoryStepMiB != 0:
		return false, fmt.Sprintf("the memory of the VM grows by multiples of %d MiB while it runs", has.MemoryStepMiB)
	}
	return true, ""
}
