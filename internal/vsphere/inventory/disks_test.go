package inventory

import (
	"slices"
	"testing"
)

func TestDisksAreReadAsTheyWereWritten(t *testing.T) {
	for _, tc := range []struct {
		keys []int32
		want string
	}{{nil, "v1;"}, {[]int32{2000}, "v1;2000"}, {[]int32{16000, 2000, 2001}, "v1;2000,2001,16000"}} {
		kv := EncodeDisks(tc.keys, true)
		if kv.Key != KeyDisks || kv.Value != tc.want {
			t.Errorf("%v is written as %+v, want %q", tc.keys, kv, tc.want)
		}
		got, known := DecodeDisks(kv.Value)
		if !known || !slices.Equal(got, slices.Sorted(slices.Values(tc.keys))) {
			t.Errorf("%q is read as %v %t", kv.Value, got, known)
		}
	}
	if kv := EncodeDisks([]int32{2000}, false); kv != (KV{KeyDisks, ""}) {
		t.Errorf("disks that are not known are written as %+v", kv)
	}
}

// An incomplete list counts as none: a disk missing by mistake would hold its VM forever, and an
// extra one would be deleted.
func TestAListOfDisksThatIsNotWholeIsNone(t *testing.T) {
	for _, value := range []string{"", "v1", "v2;2000", "2000", "v1;2000,", "v1;,2000", "v1;2000;2001", "v1; 2000", "v1;-1", "v1;02000", "v1;9999999999", "v1;*"} {
		if keys, known := DecodeDisks(value); known {
			t.Errorf("%q is read as %v", value, keys)
		}
	}
}

func TestTheSizeOfARootDiskIsReadAsItWasWritten(t *testing.T) {
	for size, want := range map[int32]string{0: "", 1: "1", 63488: "63488"} {
		kv := EncodeRootDisk(size)
		if got := DecodeRootDisk(map[string]string{kv.Key: kv.Value}); kv != (KV{KeyRootDisk, want}) || got != size {
			t.Errorf("%d GiB are written as %+v, and read as %d", size, kv, got)
		}
	}
	for _, value := range []string{"-1", "4.5", "040", " 40", "40Gi", "9999999999"} {
		if got := DecodeRootDisk(map[string]string{KeyRootDisk: value}); got != 0 {
			t.Errorf("%q is read as %d", value, got)
		}
	}
}
