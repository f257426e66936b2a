package group

import (
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func TestAGroupsFolderIsItsOwnForEver(t *testing.T) {
	if FolderName("web", "00000000-x") == FolderName("web", "11111111-x") {
		t.Error("a group that was created again would find the VMs of its predecessor")
	}
}

// A VM whose clone is about to end, and copies with the stamp, do not count as additional VMs.
func TestExistingVMsAreCountedOnce(t *testing.T) {
	s := Snapshot{Group: &v1alpha1.VmGroup{}, ID: vsphere.GroupID{Group: "u"}}
	stamped := func(ordinal int32, group string) vsphere.VM {
		return vsphere.VM{Stamp: &vsphere.Stamp{GroupID: vsphere.GroupID{Group: group}, Ordinal: ordinal}}
	}
	gone := stamped(7, "u")
	gone.Tombstone = true
	s.See(vsphere.Observation{
		VMs: []vsphere.VM{stamped(0, "u"), stamped(1, "u"), stamped(1, "u"), stamped(4, "u"), stamped(5, "another"), gone},
		InFlight: []vsphere.Operation{
			{Kind: vsphere.OpClone, Ordinal: 0}, {Kind: vsphere.OpClone, Ordinal: 2}, {Kind: vsphere.OpClone, Ordinal: 6}, {Kind: vsphere.OpPowerOn, Ordinal: 3},
		},
	})
	if got := s.existing(); got != 5 {
		t.Errorf("%d VMs exist, want those of ordinals 0, 1, 2, 4 and 6", got)
	}
}
