package vsphere

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Provisioning is how the space of a new disk is allocated.
type Provisioning string

// Provisionings of disks. The zero value leaves it to vCenter.
const (
	Thin          Provisioning = "Thin"
	Thick         Provisioning = "Thick"
	EagerlyZeroed Provisioning = "EagerlyZeroed"
)

// DataDisk is a wanted disk beside the root disk.
type DataDisk struct {
	// Name is unique in the group: a DNS label.
	Name string
	// SizeGiB is the capacity in GiB. A disk that has it, or more, is left unchanged.
	SizeGiB int32
	// Provisioning of the disk if it is created.
	Provisioning Provisioning
	// Had is true if the VM got the disk with an earlier revision. It is not created again if the VM's list lacks it.
	Had bool
}

// AttachedDisk is a data disk that the operator created.
type AttachedDisk struct {
	Name string
	// Key of the device. vCenter derives it from the disk's controller and unit.
	Key int32
	// SizeGiB is the largest capacity in GiB that the operator gave the disk.
	SizeGiB int32
	// UUID of the disk, in lower case with hyphens. It is empty until it is recorded, because vCenter assigns it when it creates the disk. It is NoUUID or Detached if none can be
	// recorded.
	UUID string
}

// Values in place of a recorded UUID.
const (
	// NoUUID is that of a disk of which vCenter showed none.
	NoUUID = "-"
	// Detached is that of a disk that was not attached when it was to be recorded. No disk is it: another one can get its place.
	Detached = "detached"
)

var (
	diskName = regexp.MustCompile(`^[a-z0-9]+(-+[a-z0-9]+)*$`)
	diskUUID = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
)

// IsUUID reports whether a text is the UUID of a disk in the form in which it is recorded.
func IsUUID(text string) bool { return diskUUID.MatchString(text) }

// DataDisks is the list of the data disks that the operator created for a VM, as the VM's configuration holds it: "v1;data:2001:100,logs:2002:50", each with its UUID once
// that is recorded: "data:2001:100:6000c29b-…". It is empty if there are none. It is a text, so that VMs can be compared. Anyone who can edit the VM can change it.
type DataDisks string

const dataDisksVersion = "v1"

// Limits of a list of data disks. MostDataDisks is more than any controller of a root disk has units.
const (
	LongestDiskName = 32
	MostDataDisks   = 64
)

// IsDiskName reports whether a data disk can have the name: a DNS label of limited length.
func IsDiskName(name string) bool {
	return len(name) <= LongestDiskName && diskName.MatchString(name)
}

// DataDisksOf returns the list of these disks. Their order does not matter.
func DataDisksOf(disks []AttachedDisk) DataDisks {
	if len(disks) == 0 {
		return ""
	}
	sorted := slices.SortedFunc(slices.Values(disks), func(a, b AttachedDisk) int { return cmp.Compare(a.Name, b.Name) })
	parts := make([]string, len(sorted))
	for i, d := range sorted {
		parts[i] = fmt.Sprintf("%s:%d:%d", d.Name, d.Key, d.SizeGiB)
		if d.UUID != "" {
			parts[i] += ":" + d.UUID
		}
	}
	return DataDisks(dataDisksVersion + ";" + strings.Join(parts, ","))
}

// Attached returns the disks, sorted by name. If any part of the list is malformed, known is false, and nothing is known of the VM's data disks.
func (d DataDisks) Attached() (disks []AttachedDisk, known bool) {
	if d == "" {
		return nil, true
	}
	version, list, ok := strings.Cut(string(d), ";")
	if !ok || version != dataDisksVersion {
		return nil, false
	}
	for part := range strings.SplitSeq(list, ",") {
		fields := strings.Split(part, ":")
		if len(fields) != 3 && len(fields) != 4 || !IsDiskName(fields[0]) || len(disks) == MostDataDisks {
			return nil, false
		}
		disk := AttachedDisk{Name: fields[0]}
		if len(fields) == 4 {
			if disk.UUID = fields[3]; disk.UUID != NoUUID && disk.UUID != Detached && !IsUUID(disk.UUID) {
				return nil, false
			}
		}
		for i, n := range []*int32{&disk.Key, &disk.SizeGiB} {
			value, err := strconv.ParseInt(fields[i+1], 10, 32)
			if err != nil || value <= 0 {
				return nil, false
			}
			*n = int32(value)
		}
		disks = append(disks, disk)
	}
	if DataDisksOf(disks) != d { // not in the form in which the operator writes it, such as with a name twice
		return nil, false
	}
	for i := range disks[1:] {
		if disks[i].Name == disks[i+1].Name {
			return nil, false
		}
	}
	return disks, true
}

// Unidentified reports whether the UUID of a disk is not recorded yet.
func (d DataDisks) Unidentified() bool {
	attached, _ := d.Attached()
	return slices.ContainsFunc(attached, func(a AttachedDisk) bool { return a.UUID == "" })
}

// Growing returns a wanted disk that is larger than the one of that name, or nil.
func (d DataDisks) Growing(wanted []DataDisk) *DataDisk {
	attached, _ := d.Attached()
	for i, w := range wanted {
		if slices.ContainsFunc(attached, func(a AttachedDisk) bool { return a.Name == w.Name && a.SizeGiB < w.SizeGiB }) {
			return &wanted[i]
		}
	}
	return nil
}

// Has reports whether the list has all of these disks with at least their capacity.
func (d DataDisks) Has(wanted []DataDisk) bool {
	if len(wanted) == 0 {
		return true
	}
	attached, known := d.Attached()
	return known && !slices.ContainsFunc(wanted, func(w DataDisk) bool {
		return !slices.ContainsFunc(attached, func(a AttachedDisk) bool { return a.Name == w.Name && a.SizeGiB >= w.SizeGiB })
	})
}
