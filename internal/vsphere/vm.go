package vsphere

import (
	"fmt"
	"strings"
	"time"
)

// PowerState of a VM as vCenter reports it.
type PowerState string

// Power states. PowerUnknown is a state that vCenter does not report.
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
	// ResourcePool that the VM runs in. It is zero if vCenter does not show it.
	ResourcePool Ref
	// InstanceUUID is vCenter's UUID of the VM. vCenter can reassign it if two VMs would share one.
	InstanceUUID string
	Power        PowerState
	// Connection is the state of vCenter's connection to the VM. If it is not Connected, the other fields are vCenter's last known values.
	Connection Connection
	// GuestIP is the address at which other machines reach the guest, according to VMware Tools, or "". It derives from Addresses.
	GuestIP   string
	Addresses GuestAddresses
	// HeartbeatGreen is true when VMware Tools' heartbeat is green.
	HeartbeatGreen bool
	// ToolsRunning is true if VMware Tools run, so that the guest can shut down on request.
	ToolsRunning bool
	// GuestInfo is the value that Query.GuestInfo asks for. GuestInfoKnown is true if the value was read since the last power-on, or if the VM is off and has
	// none. The guest can write anything, so the value must pass untrusted.Quoted before display.
	GuestInfo      string
	GuestInfoKnown bool
	// Disabled is a method that vCenter has disabled and that the operator needs to change the VM or power it off, or "". Backups and migrations disable methods.
	// For a VM that is off it means little: powering off is disabled then.
	Disabled string
	// CPU is the number of virtual CPUs.
	CPU int32
	// MemoryMiB is the memory in MiB.
	MemoryMiB int64
	// RootDiskGiB is the capacity in GiB that the operator gave the VM's first disk, or zero if it gave none: the disk is that of the template, or the VM was adopted.
	RootDiskGiB int32
	// DataDisks are the data disks that the operator created.
	DataDisks DataDisks
	// HotAdd describes how the VM can grow while it runs.
	HotAdd HotAdd
	// Devices is the number of the VM's disks and network adapters.
	Devices int32
	// BootTime is the time of the last power-on, by vCenter's clock and in UTC. It is zero while the VM is off, and if vCenter does not report it. Suspend and
	// resume do not change it.
	BootTime time.Time
	// Question is the VM's unanswered question, or "". It must pass untrusted.Quoted before display.
	Question string
	// IsTemplate is true for a VM that is marked as template.
	IsTemplate bool
	// ChangeVersion changes with every change of the VM's configuration.
	ChangeVersion string
	// Stamp is nil for a VM that carries no readable stamp.
	Stamp *Stamp
	// Released is nil for a VM without a readable release mark, and for one that carries a stamp. A mark beside a stamp was written manually or copied, and has no
	// meaning.
	Released *ReleaseMark
	// Tombstone is true once the operator decided to destroy the VM. The operator never revives such a VM.
	Tombstone bool
}

// namedDisks is the number of disks named in a message.
const namedDisks = 3

// Disk is a virtual disk of a VM.
type Disk struct {
	// Device is govc's name of the disk: "disk-1000-1".
	Device string
	// Label is the name in vCenter's UI: "Hard disk 2". File is the disk's location: "[datastore] directory/name.vmdk".
	Label, File string
	// FirstClassID is the ID of a First Class Disk. It is empty for any other disk.
	FirstClassID string
}

// ForeignDisks is the cause of an error of KindForeignDisk. The operator does not destroy the VM, because vCenter would delete these disks with it.
type ForeignDisks struct {
	// Path of the VM in vCenter's inventory.
	Path string
	// Disks has at least one element.
	Disks []Disk
	// ChangeVersion that the caller observed. If the VM's version differs from it, a retry makes sense.
	ChangeVersion string
}

// Error names the disks and both ways to continue.
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
		"Let the storage driver that attached them do that, or run: %s (without -keep this deletes the disks). The operator then continues automatically", strings.Join(names, "; "), command)
}

// SeenVersion is the change version of the VM for which the error holds.
func (f *ForeignDisks) SeenVersion() string { return f.ChangeVersion }

// GrowthBlocked is the cause of an error of KindGrowthBlocked. The disk stays as it is.
type GrowthBlocked struct {
	// Disk is the name of a data disk, or empty for the root disk.
	Disk string
	// SizeGiB is the wanted capacity.
	SizeGiB int32
	// Blocker is what is in the way, and Remedy what to do about it, both as clauses.
	Blocker, Remedy string
	// ChangeVersion that the caller observed. If the VM's version differs from it, a retry makes sense.
	ChangeVersion string
}

// Error names the blocker and the remedy.
func (g *GrowthBlocked) Error() string {
	disk := "root disk"
	if g.Disk != "" {
		disk = "data disk " + g.Disk
	}
	return fmt.Sprintf("vCenter does not grow its %s to %d GiB, because %s. The VM keeps the disk that it has. %s; the operator then continues automatically", disk, g.SizeGiB, g.Blocker, g.Remedy)
}

// SeenVersion is the change version of the VM for which the error holds.
func (g *GrowthBlocked) SeenVersion() string { return g.ChangeVersion }

// Connection is the state of vCenter's connection to a VM. The zero value is unknown.
type Connection string

// States of the connection, by their vSphere names.
const (
	Connected Connection = "connected"
	// Disconnected: the VM's host is disconnected or does not answer.
	Disconnected Connection = "disconnected"
	// Inaccessible: the VM's files cannot be reached.
	Inaccessible Connection = "inaccessible"
	// Orphaned: the VM's host no longer knows the VM.
	Orphaned Connection = "orphaned"
	// Invalid: the VM's configuration is unreadable.
	Invalid Connection = "invalid"
)

// Connected reports whether vCenter reaches the VM.
func (vm *VM) Connected() bool { return vm.Connection == Connected }

// Problem returns the reason why vCenter does not reach a VM, as a clause.
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

// WayOut returns the action for a user, as a clause. An orphaned or invalid VM does not recover on its own.
func (c Connection) WayOut() string {
	switch c {
	case Disconnected:
		return "bring its host back"
	case Inaccessible:
		return "bring its storage back"
	case Orphaned, Invalid:
		return "register it again, or power it off and remove it from the inventory; the group then continues automatically"
	}
	return "bring its host or its storage back"
}
