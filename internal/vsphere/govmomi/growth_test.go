package govmomi

import (
	"fmt"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
	"github.com/codeconnect/vmgroup-operator/test/harness/growth"
)

// aPass is what a pass without a change asks of a vCenter with groups of five VMs.
func aPass(_ testing.TB, vms int) func() {
	s := New(Config{Installation: "inst"})
	root := vsphere.Folder{Ref: vsphere.FolderRef("group-root"), Path: "/DC0/vm/vm-operator"}
	s.index.SetRoot(root)
	id := func(group int) vsphere.GroupID {
		return vsphere.GroupID{Installation: "inst", Member: "m", Group: fmt.Sprint(group)}
	}
	folder := func(group int) vsphere.Folder {
		return vsphere.Folder{Ref: vsphere.FolderRef(fmt.Sprint("group-", group)), Name: fmt.Sprint(group), Parent: root.Ref}
	}
	seen := make([]inventory.Seen, vms)
	folders := make([]vsphere.Folder, vms/5)
	for i := range seen {
		folders[i/5] = folder(i / 5)
		seen[i].VM = vsphere.VM{
			Ref: vsphere.VMRef(fmt.Sprint("vm-", i)), Name: fmt.Sprint("vm-", i), Folder: folder(i / 5).Ref, Stamp: &vsphere.Stamp{GroupID: id(i / 5), Ordinal: int32(i % 5)},
		}
	}
	s.index.ApplyListing(s.index.Begin(), seen, folders)
	s.ops.Inherit(uint64(s.index.Begin()), nil)
	s.index.ApplyListing(s.index.Begin(), seen, folders)
	q := vsphere.Query{ID: id(3), Folder: folder(3).Ref}
	for i := range 5 {
		q.Known = append(q.Known, seen[15+i].Ref)
	}
	return func() {
		if o := s.Observe(q); s.Health().VMs != vms || len(o.VMs) != 5 || !o.Complete {
			panic(fmt.Sprintf("%d VMs, complete: %t (%s)", len(o.VMs), o.Complete, o.Incomplete))
		}
	}
}

func BenchmarkGrowthOfAPass(b *testing.B)               { growth.Benchmark(b, aPass, 500, 5000, 50000) }
func TestAPassCostsTheSameInALargeVCenter(t *testing.T) { growth.Flat(t, aPass, 500, 20000) }
