package vsphere_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func TestDataDisksAreReadAsTheyWereWritten(t *testing.T) {
	logs, data := vsphere.AttachedDisk{Name: "logs", Key: 2002, SizeGiB: 50}, vsphere.AttachedDisk{Name: "data", Key: 2001, SizeGiB: 100}
	for want, disks := range map[vsphere.DataDisks][]vsphere.AttachedDisk{
		"v1;data:2001:100:6000c29b-3f2c-4a5b-8c7d-0123456789ab,logs:2002:50:-,old:2003:1:detached": {
			{Name: "data", Key: 2001, SizeGiB: 100, UUID: "6000c29b-3f2c-4a5b-8c7d-0123456789ab"}, {Name: "logs", Key: 2002, SizeGiB: 50, UUID: vsphere.NoUUID}, {Name: "old", Key: 2003, SizeGiB: 1, UUID: vsphere.Detached},
		},
		"": nil, "v1;logs:2002:50": {logs}, "v1;data:2001:100,logs:2002:50": {data, logs},
	} {
		if got := vsphere.DataDisksOf(disks); got != want {
			t.Errorf("%+v are written as %q, want %q", disks, got, want)
		}
		if got, known := want.Attached(); !known || !slices.Equal(got, disks) {
			t.Errorf("%q is read as %+v, known %t", want, got, known)
		}
	}
	if got := vsphere.DataDisksOf([]vsphere.AttachedDisk{logs, data}); got != "v1;data:2001:100,logs:2002:50" {
		t.Errorf("in another order they are written as %q", got)
	}
}

func TestOfAMalformedListOfDataDisksNothingIsKnown(t *testing.T) {
	for _, list := range []vsphere.DataDisks{
		"v1;", "v2;data:2001:100", "data:2001:100", "v1;data:2001", "v1;data:2001:100,", "v1;:2001:100", "v1;data:2001:0", "v1;data:-2001:100",
		"v1;data:2001:100:thin", "v1;data:2001:100:", "v1;data:2001:100:6000C29B-3f2c-4a5b-8c7d-0123456789ab", "v1;data:2001:100:-:-", "v1;data:02001:100", "v1;data:2001:9999999999", "v1;logs:2002:50,data:2001:100", "v1;data:2001:100,data:2002:50",
		"v1;Data:2001:100", "v1;-:2001:100", vsphere.DataDisks("v1;" + strings.Repeat("a", 33) + ":2001:100"),
	} {
		if got, known := list.Attached(); known {
			t.Errorf("%q is read as %+v", list, got)
		}
	}
}
