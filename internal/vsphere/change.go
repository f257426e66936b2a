package vsphere

import (
	"fmt"
	"time"
)

// ChangeKind names what happened to a VM.
type ChangeKind string

// Changes that vCenter is asked about when the operator did not make them itself.
const (
	ChangePoweredOff   ChangeKind = "PoweredOff"
	ChangeSuspended    ChangeKind = "Suspended"
	ChangeDeleted      ChangeKind = "Deleted"
	ChangeReconfigured ChangeKind = "Reconfigured"
	ChangeRenamed      ChangeKind = "Renamed"
	ChangeMoved        ChangeKind = "Moved"
)

// Change is what somebody else did to a VM of a group, as an event of vCenter tells it.
type Change struct {
	ID      GroupID
	Ordinal int32
	VM      Ref
	Kind    ChangeKind
	// At is when, by vCenter's clock.
	At time.Time
	// User is who, as untrusted.Quoted returns it; empty when vCenter names nobody, as for a guest that shuts down by itself.
	User string
}

// Witness is told who changed VMs. Implementations must not block for long.
type Witness interface {
	// Cares reports whether this process looks after a group. vCenter is asked about no other.
	Cares(group GroupKey) bool
	// Changed tells of a change.
	Changed(change Change)
}

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
