package vsphere

import (
	"fmt"
	"strings"
	"time"
)

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
	// ResourcePool that the VM runs in; zero if vCenter does not show it.
	ResourcePool Ref
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
	// there is none. The guest may write anything, so that it passes untrusted.Quoted before it is shown to a person.
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
	// Question is what the VM asks, and waits for an answer to; empty if nothing. It passes untrusted.Quoted before it is shown to a person.
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

// namedDisks are told in a message.
const namedDisks = 3

// Disk is a virtual disk of a VM.
type Disk struct {
	// Device is what govc calls it: "disk-1000-1".
	Device string
	// Label is what vCenter's users see: "Hard disk 2". File is where it is: "[datastore] directory/name.vmdk".
	Label, File string
	// FirstClassID is the ID of a First Class Disk; empty for any other.
	FirstClassID string
}

// ForeignDisks is the cause of an error of KindForeignDisk: a VM is not destroyed, because vCenter would delete these disks with it.
type ForeignDisks struct {
	// Path of the VM in vCenter's inventory.
	Path string
	// Disks are at least one.
	Disks []Disk
	// ChangeVersion that the caller had observed of the VM: once that is another, it is worth trying again.
	ChangeVersion string
}

// Error says which disks they are, and both ways out.
func (f *ForeignDisks) Error() string {
	names := make([]string, 0, len(f.Disks))
	devices := make([]string, 0, len(f.Disks))
	for _, d := range f.Disks {
		devices = append(devices, d.Device)
		if len(names) == namedDisks {
			continue
		}
		name := fmt.Sprintf("%.80q in %.160q", d.Label, d.File)
		if d.FirstClassID != "" {
			name += fmt.Sprintf(", First Class Disk %.80q", d.FirstClassID)
		}
		names = append(names, name)
	}
	if more := len(f.Disks) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	command := fmt.Sprintf("govc device.remove -vm '%s' -keep %s", strings.ReplaceAll(f.Path, "'", `'\''`), strings.Join(devices, " "))
	return fmt.Sprintf("vCenter would delete disks with the VM that it did not have after its clone: %s. The VM is kept, powered off, until they are detached. "+
		"Let the storage driver that attached them do that, or run: %s (without -keep this deletes the disks). It goes on by itself then", strings.Join(names, "; "), command)
}

// Connection says whether vCenter reaches a VM, and why not. The zero value is not known.
type Connection string

// States of the connection, as vSphere names them.
const (
	Connected Connection = "connected"
	// Disconnected: the VM's host is disconnected or does not answer.
	Disconnected Connection = "disconnected"
	// Inaccessible: the VM's files cannot be reached.
	Inaccessible Connection = "inaccessible"
	// Orphaned: the host that the VM was registered on does not know it any more.
	Orphaned Connection = "orphaned"
	// Invalid: the VM's configuration cannot be read.
	Invalid Connection = "invalid"
)

// Connected reports whether vCenter reaches the VM.
func (vm *VM) Connected() bool { return vm.Connection == Connected }

// Problem says why vCenter does not reach a VM, as a clause.
func (c Connection) Problem() string {
	switch c {
	case Disconnected:
		return "its host is disconnected"
	case Inaccessible:
		return "it is inaccessible: its files cannot be reached"
	case Orphaned:
		return "it is orphaned: its host does not know it any more"
	case Invalid:
		return "it is invalid: its configuration cannot be read"
	}
	return "its host is disconnected, or its files cannot be reached"
}

// WayOut says what a person has to do, as a clause. Of an orphaned or an invalid VM nothing comes back by itself.
func (c Connection) WayOut() string {
	switch c {
	case Disconnected:
		return "bring its host back"
	case Inaccessible:
		return "bring its storage back"
	case Orphaned, Invalid:
		return "register it again, or power it off and remove it from the inventory; the group then goes on by itself"
	}
	return "bring its host or its storage back"
}
