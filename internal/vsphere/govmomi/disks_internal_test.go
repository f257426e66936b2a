package govmomi

import (
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// A disk that is taken for the operator's is destroyed with its VM, and grown.
func TestWhichDiskIsTheListedOne(t *testing.T) {
	const own, others = "6000c29b-3f2c-4a5b-8c7d-0123456789ab", "6000c29b-3f2c-4a5b-8c7d-ffffffffffff"
	disk := func(key int32, sizeGiB int64, uuid string) *types.VirtualDisk {
		d := &types.VirtualDisk{CapacityInBytes: sizeGiB << 30}
		d.Key, d.Backing = key, &types.VirtualDiskFlatVer2BackingInfo{Uuid: uuid}
		return d
	}
	pmem := disk(2001, 5, "")
	pmem.Backing = &types.VirtualDiskLocalPMemBackingInfo{Uuid: others}
	firstClass := disk(2001, 5, own)
	firstClass.VDiskId = &types.ID{Id: "fcd"}
	for story, c := range map[string]struct {
		disk     *types.VirtualDisk
		recorded string
		want     bool
	}{
		"of its UUID":                                         {disk(2001, 5, own), own, true},
		"of its UUID, moved":                                  {disk(2007, 5, own), own, true},
		"of its UUID, in capitals":                            {disk(2001, 5, "6000C29B-3F2C-4A5B-8C7D-0123456789AB"), own, true},
		"another one in its place":                            {disk(2001, 5, others), own, false},
		"one without a UUID in its place":                     {disk(2001, 5, ""), own, false},
		"one of another kind in its place":                    {pmem, own, false},
		"a first class disk":                                  {firstClass, own, false},
		"not recorded yet":                                    {disk(2001, 5, own), "", true},
		"not recorded yet, larger":                            {disk(2001, 6, own), "", true},
		"not recorded yet, smaller":                           {disk(2001, 4, own), "", false},
		"not recorded yet, elsewhere":                         {disk(2002, 5, own), "", false},
		"no UUID was shown":                                   {disk(2001, 5, ""), vsphere.NoUUID, true},
		"no UUID was shown, smaller":                          {disk(2001, 4, ""), vsphere.NoUUID, false},
		"no UUID was shown, and this disk shows one":          {disk(2001, 5, others), vsphere.NoUUID, false},
		"detached before it was recorded, and one is there":   {disk(2001, 5, others), vsphere.Detached, false},
		"detached before it was recorded, one without a UUID": {disk(2001, 5, ""), vsphere.Detached, false},
	} {
		listed := vsphere.AttachedDisk{Name: "data", Key: 2001, SizeGiB: 5, UUID: c.recorded}
		if got := isCreated(c.disk, listed); got != c.want {
			t.Errorf("%s: %t", story, got)
		}
		if got := inPlaceOf(c.disk, []vsphere.AttachedDisk{listed}); got != (!c.want && c.disk.Key == listed.Key) {
			t.Errorf("%s: in its place %t", story, got)
		}
	}
}
