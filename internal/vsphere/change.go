package vsphere

import (
	"fmt"
	"time"
)

// ChangeKind names what happened to a VM.
type ChangeKind string

// Changes of VMs. If the operator did not make a change, it asks vCenter for the user who did.
const (
	ChangePoweredOff   ChangeKind = "PoweredOff"
	ChangeSuspended    ChangeKind = "Suspended"
	ChangeDeleted      ChangeKind = "Deleted"
	ChangeReconfigured ChangeKind = "Reconfigured"
	ChangeRenamed      ChangeKind = "Renamed"
	ChangeMoved        ChangeKind = "Moved"
)

// Change is a change of a group's VM that the operator did not make, from a vCenter event.
type Change struct {
	ID      GroupID
	Ordinal int32
	VM      Ref
	Kind    ChangeKind
	// At is the time of the change, by vCenter's clock.
	At time.Time
	// User made the change. It is formatted by untrusted.Quoted. It is empty if vCenter names no user, for example if the guest shut down on its own.
	User string
}

// Witness receives the changes of VMs and their users. Implementations must not block for long.
type Witness interface {
	// Cares reports whether this process owns the group. The operator asks vCenter only about these groups.
	Cares(group GroupKey) bool
	// Changed receives one change.
	Changed(change Change)
}

// Reconfiguration is the wanted change of an existing VM. A zero field is left unchanged.
type Reconfiguration struct {
	Target
	// Revision to write to the stamp in the same step.
	Revision string
	// CPU is the number of virtual CPUs. It is a multiple of CoresPerSocket, or of the VM's own cores per socket if that is zero.
	CPU, CoresPerSocket int32
	// MemoryMiB is the memory in MiB.
	MemoryMiB int64
	// RootDiskGiB is the capacity of the VM's first disk in GiB. A disk that has it, or more, is left unchanged.
	RootDiskGiB int32
	// DataDisks that the VM must have. Those that it lacks are created on the controller of its first disk, and those that are smaller grow. Others stay.
	DataDisks []DataDisk
	// Identify asks to record the UUIDs of the VM's data disks, and nothing else. The operation is then OpIdentify.
	Identify bool
	// Network for the VM's first network adapter. The adapter keeps its address.
	Network Ref
}

// Kind returns the kind of the operation.
func (r Reconfiguration) Kind() OperationKind {
	if r.Identify {
		return OpIdentify
	}
	return OpReconfigure
}

// Done reports whether the observed VM already has the wanted state. An observation shows neither the network nor the size of the root disk, so Done does not check them.
func (r Reconfiguration) Done(vm VM) bool {
	return (r.Revision == "" || vm.Stamp != nil && vm.Stamp.Revision == r.Revision) &&
		(r.CPU == 0 || vm.CPU == r.CPU) && (r.CoresPerSocket == 0 || vm.HotAdd.CoresPerSocket == r.CoresPerSocket) && (r.MemoryMiB == 0 || vm.MemoryMiB == r.MemoryMiB) &&
		vm.DataDisks.Has(r.DataDisks) && (!r.Identify || !vm.DataDisks.Unidentified())
}

// HotAdd describes how a VM can grow while it runs.
type HotAdd struct {
	// CPU and Memory are true if the VM supports hot add of the resource.
	CPU, Memory bool
	// CoresPerSocket divides the number of CPUs. It changes only while the VM is off. It is zero if vCenter does not report it.
	CoresPerSocket int32
	// MemoryLimitMiB is the maximum memory, and MemoryStepMiB the increment. Each is zero if vCenter does not report it.
	MemoryLimitMiB, MemoryStepMiB int64
}

// FittingCores returns the greatest number of cores per socket, up to cores, with which a VM can have this many CPUs. It returns zero if cores is zero.
func FittingCores(cpu, cores int32) int32 {
	for ; cores > 1; cores-- {
		if cpu%cores == 0 {
			return cores
		}
	}
	return cores
}

// CanHotAdd reports whether a running VM can get this size. coresPerSocket is zero if the VM keeps its own. If not, why holds the reason as a clause. Do not call it for a VM that
// is off: that VM can get any size. Even if can is true, vCenter can refuse the change because of the guest or the host.
func CanHotAdd(vm VM, cpu, coresPerSocket int32, memoryMiB int64) (can bool, why string) {
	has, grows := vm.HotAdd, memoryMiB-vm.MemoryMiB
	switch {
	case cpu < vm.CPU:
		return false, fmt.Sprintf("a running VM cannot go from %d to %d CPUs", vm.CPU, cpu)
	case grows < 0:
		return false, fmt.Sprintf("a running VM cannot go from %d to %d MiB of memory", vm.MemoryMiB, memoryMiB)
	case coresPerSocket != 0 && coresPerSocket != has.CoresPerSocket:
		return false, fmt.Sprintf("a running VM cannot go from %d to %d cores per socket", has.CoresPerSocket, coresPerSocket)
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
