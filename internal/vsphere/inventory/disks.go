package inventory

import (
	"slices"
	"strconv"
	"strings"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// EncodeDisks returns the extraConfig entry with the device keys of a clone's disks. If the keys are unknown, it empties the entry: vCenter
// copies extraConfig, and the template's entry describes the template.
func EncodeDisks(keys []int32, known bool) KV {
	if !known {
		return KV{KeyDisks, ""}
	}
	sorted := slices.Sorted(slices.Values(keys))
	parts := make([]string, len(sorted))
	for i, key := range sorted {
		parts[i] = strconv.Itoa(int(key))
	}
	return KV{KeyDisks, disksVersion + ";" + strings.Join(parts, ",")}
}

// EncodeRootDisk returns the extraConfig entry with the capacity of a VM's first disk in GiB. Zero empties the entry, which can be that of the template.
func EncodeRootDisk(sizeGiB int32) KV {
	if sizeGiB == 0 {
		return KV{KeyRootDisk, ""}
	}
	return KV{KeyRootDisk, strconv.Itoa(int(sizeGiB))}
}

// DecodeRootDisk reads the capacity of a VM's first disk in GiB. It is zero if the entry is missing or malformed.
func DecodeRootDisk(values map[string]string) int32 {
	size, _ := number(values[KeyRootDisk])
	return size
}

// DecodeDisks reads the device keys of the disks that a VM was cloned with. If the entry is missing or malformed in any part, known is false.
// VMs from older versions have no entry.
func DecodeDisks(value string) (keys []int32, known bool) {
	version, list, ok := strings.Cut(value, ";")
	if !ok || version != disksVersion {
		return nil, false
	}
	if list == "" {
		return nil, true
	}
	for part := range strings.SplitSeq(list, ",") {
		key, ok := number(part)
		if !ok {
			return nil, false
		}
		keys = append(keys, key)
	}
	return keys, true
}

// longestDataDisks is more than the longest list that the operator writes, in bytes.
const longestDataDisks = 8192

// DecodeDataDisks reads the list of a VM's data disks. Of a longer text than any list, it returns the beginning, which is malformed as well.
func DecodeDataDisks(values map[string]string) vsphere.DataDisks {
	text := values[KeyDataDisks]
	if len(text) > longestDataDisks {
		text = "too long: " + text[:64]
	}
	return vsphere.DataDisks(text)
}
