package vsphere

import "time"

// PowerState of a VM as vCenter reports it.
type PowerState string

// Power states. Unknown covers a VM whose state was not reported.
const (
	PoweredOn    PowerState = "PoweredOn"
	PoweredOff   PowerState = "PoweredOff"
	Suspended    PowerState = "Suspended"
	PowerUnknown PowerState = "Unknown"
)

// VM is one virtual machine below the operator's root folder.
type VM struct {
	Ref    Ref
	Name   string
	Folder Ref
	// InstanceUUID is vCenter's UUID of the VM; vCenter may reassign it when two VMs would share one.
	InstanceUUID string
	Power        PowerState
	// Connection says whether vCenter reaches the VM. If it does not, the rest is what vCenter last knew.
	Connection Connection
	// GuestIP is the address by which others reach the guest, as VMware Tools tell, or empty. Addresses is what it follows from.
	GuestIP   string
	Addresses GuestAddresses
	// HeartbeatGreen is true when VMware Tools' heartbeat is green.
	HeartbeatGreen bool
	// ToolsRunning is true when VMware Tools run, so that the guest can be asked to shut down.
	ToolsRunning bool
	// GuestInfo is the value that Query.GuestInfo asks for, GuestInfoKnown whether it is known: it was read since the VM was powered on, or the VM is off, when
	// there is none. The guest may write anything, so that it passes foreigntext.Quoted before it is shown to a person.
	GuestInfo      string
	GuestInfoKnown bool
	// Disabled is a method that vCenter has disabled of those that are needed to change the VM and to power it off; empty if there is none. A backup or a migration does
	// that. Of a VM that is off it says little: powering off is disabled then.
	Disabled string
	// CPU is the number of virtual CPUs.
	CPU int32
	// MemoryMiB is the memory in MiB.
	MemoryMiB int64
	// HotAdd is what the VM can get more of while it runs.
	HotAdd HotAdd
	// Devices is the number of its disks and network adapters.
	Devices int32
	// BootTime is when it was powered on last, by vCenter's clock and in UTC; zero while it is off, and where vCenter does not tell. To suspend and
	// resume a VM leaves it as it is.
	BootTime time.Time
	// Question is what the VM asks, and waits for an answer to; empty if nothing. It passes foreigntext.Quoted before it is shown to a person.
	Question string
	// IsTemplate is true for a VM that is marked as template.
	IsTemplate bool
	// ChangeVersion changes with every change of the VM's configuration.
	ChangeVersion string
	// Stamp is nil for a VM that carries no readable stamp.
	Stamp *Stamp
	// Released is nil for a VM that carries no readable release mark, and for one that carries a stamp: a mark beside a stamp was written by
	// hand, or came with a copy, and means nothing.
	Released *ReleaseMark
	// Tombstone is true once the operator decided to destroy the VM. Such a VM is never revived.
	Tombstone bool
}
