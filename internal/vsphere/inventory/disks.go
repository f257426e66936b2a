package inventory

import (
	"slices"
	"strconv"
	"strings"
)

// EncodeDisks returns what to write into extraConfig of a clone: the device keys of the disks that it gets from its template. Where they are
// not known it empties the key: vCenter copies extraConfig, and what the template carries is about the template.
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

// DecodeDisks reads the device keys of the disks that a VM was cloned with. One that is missing or malformed in any part is not known: a VM of
// an older version has none.
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
