package fake

import (
	"cmp"
	"slices"

	"github.com/google/uuid"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// firstDiskKey is the key of a VM's first disk.
const firstDiskKey = 2000

// Identified returns a list of data disks with their UUIDs.
func Identified(list vsphere.DataDisks) vsphere.DataDisks {
	attached, known := list.Attached()
	if !known {
		return list
	}
	return vsphere.DataDisksOf(identified(attached))
}

func identified(attached []vsphere.AttachedDisk) []vsphere.AttachedDisk {
	for i := range attached {
		attached[i].UUID = cmp.Or(attached[i].UUID, uuid.NewSHA1(uuid.NameSpaceOID, []byte(attached[i].Name)).String())
	}
	return attached
}

// WithDataDisks returns the data disks of a VM after it got the wanted ones.
func WithDataDisks(has vsphere.DataDisks, wanted []vsphere.DataDisk) vsphere.DataDisks {
	attached, known := has.Attached()
	if !known || len(wanted) == 0 {
		return has
	}
	attached = identified(attached)
	for _, w := range wanted {
		if at := slices.IndexFunc(attached, func(a vsphere.AttachedDisk) bool { return a.Name == w.Name }); at >= 0 {
			attached[at].SizeGiB = max(attached[at].SizeGiB, w.SizeGiB)
			continue
		}
		key := int32(firstDiskKey + 1)
		for slices.ContainsFunc(attached, func(a vsphere.AttachedDisk) bool { return a.Key == key }) {
			key++
		}
		attached = append(attached, vsphere.AttachedDisk{Name: w.Name, Key: key, SizeGiB: w.SizeGiB})
	}
	return vsphere.DataDisksOf(attached)
}
