package vsphere

import (
	"fmt"
	"strings"
)

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
