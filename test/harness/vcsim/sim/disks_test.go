package sim_test

import (
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

const volume = "[LocalDS_0] fcd/volume.vmdk"

// TestAVMIsDestroyedWithAllDisks, including disks that a user attached, First Class Disks or not. To keep one,
// detach it.
func TestAVMIsDestroyedWithAllDisks(t *testing.T) {
	h := person(t, sim.Options{})
	has := func(file string, want bool) {
		t.Helper()
		if got, err := h.HasFile(h.ctx, file); err != nil || got != want {
			t.Errorf("%s is there: %t %v, want %t", file, got, err, want)
		}
	}
	const other = "[LocalDS_0] fcd/other.vmdk"
	must(t, h.AddDisk(h.ctx, ordinary, volume, "6f1-2"))
	must(t, h.AddDisk(h.ctx, ordinary, other, ""))
	has(volume, true)
	has(other, true)
	disks := h.disks(ordinary)
	if len(disks) != 2 || disks[0].Key != 2000 || disks[0].VDiskId.Id != "6f1-2" || disks[1].Key != 2001 || disks[1].VDiskId != nil {
		t.Errorf("disks are %+v", disks)
	}
	before := h.config(ordinary).ChangeVersion
	must(t, h.DetachDisk(h.ctx, ordinary, other))
	if h.config(ordinary).ChangeVersion == before {
		t.Error("detaching a disk did not change the version of the configuration")
	}
	must(t, h.Destroy(h.ctx, ordinary))
	has(volume, false)
	has(other, true)
}

func TestACloneHasItsSourcesDisksAsItsOwn(t *testing.T) {
	h := person(t, sim.Options{})
	must(t, h.AddDisk(h.ctx, ordinary, "", ""))
	must(t, h.AddDisk(h.ctx, ordinary, volume, "6f1-2"))
	must(t, h.clone(ordinary, root, "a", func(*types.VirtualMachineCloneSpec) {}))
	source, copied := h.disks(ordinary), h.disks(root+"/a")
	if len(copied) != 2 || copied[0].Key != source[0].Key || copied[1].Key != source[1].Key {
		t.Fatalf("disks are %+v, want such as %+v", copied, source)
	}
	if copied[1].VDiskId != nil {
		t.Error("a First Class Disk is two VMs'")
	}
	must(t, h.Snapshot(h.ctx, ordinary))
	must(t, h.AddDisk(h.ctx, ordinary, "", ""))
	snapshot, err := h.vm(ordinary).FindSnapshot(h.ctx, "base")
	must(t, err)
	must(t, h.clone(ordinary, root, "b", func(s *types.VirtualMachineCloneSpec) { s.Snapshot = snapshot }))
	if all, of := len(h.disks(ordinary)), len(h.disks(root+"/b")); all != 3 || of != 2 {
		t.Errorf("the source has %d disks, and a clone of its snapshot %d; want 3 and 2", all, of)
	}
}

func (h hand) disks(path string) []types.VirtualDisk {
	h.t.Helper()
	disks, err := h.Disks(h.ctx, path)
	must(h.t, err)
	return disks
}
