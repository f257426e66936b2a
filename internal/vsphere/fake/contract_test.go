package fake_test

import (
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/contract"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/fake"
)

func TestContract(t *testing.T) {
	contract.ServerContract(t, func(*testing.T) contract.Rig {
		s := fake.New(fake.Options{})
		s.AddTemplate(vsphere.Template{Name: "debian-12", RootDiskBytes: 2 << 30})
		hands := s.ByHand()
		reconfigure := func(vm vsphere.VM, f func(vm *vsphere.VM)) {
			hands.Edit(vm.Ref.Value, func(vm *vsphere.VM) {
				f(vm)
				vm.ChangeVersion += "0" // as with any configuration change
			})
		}
		s.AddPlace(fake.Network, "/DC0/network/other")
		return contract.Rig{
			Server: s, Template: "debian-12", Network: "other", Progress: func() { s.Step() },
			Person: contract.Person{
				AddVM:   func(f vsphere.Folder, name string) { hands.AddForeignVM(f.Ref, name) },
				CopyVM:  func(_ vsphere.Folder, vm vsphere.VM, as string) { hands.CopyVM(vm.Ref.Value, as) },
				Delete:  func(_ vsphere.Folder, vm vsphere.VM) { hands.Delete(vm.Ref.Value) },
				MoveOut: func(_ vsphere.Folder, vm vsphere.VM) { hands.MoveOut(vm.Ref.Value) },
				Reregister: func(f vsphere.Folder, vm vsphere.VM, outside bool) vsphere.Ref {
					files := hands.Unregister(vm.Ref.Value)
					if outside {
						f = vsphere.Folder{}
					}
					return hands.Register(files, f.Ref)
				},
				OutsidePath: fake.Outside,
				Outside:     func() vsphere.Ref { return vsphere.FolderRef("group-v-elsewhere") },
				Unstamp:     func(_ vsphere.Folder, vm vsphere.VM) { reconfigure(vm, func(vm *vsphere.VM) { vm.Stamp = nil }) },
				SetReleaseMark: func(_ vsphere.Folder, vm vsphere.VM, mark *vsphere.ReleaseMark) {
					reconfigure(vm, func(vm *vsphere.VM) { vm.Released = mark })
				},
				AttachDisk: func(_ vsphere.Folder, vm vsphere.VM) {
					hands.AttachDisks(vm.Ref.Value, vsphere.Disk{Device: "disk-1000-1", FirstClassID: "6f1-2"})
				},
				DetachDisk:      func(_ vsphere.Folder, vm vsphere.VM) { hands.AttachDisks(vm.Ref.Value) },
				SetTemplateInfo: func(keys map[string]string) { hands.SetTemplateInfo("debian-12", keys) },
				GuestInfo:       func(_ vsphere.Folder, vm vsphere.VM) map[string]string { return s.GuestInfo(vm.Ref.Value) },
				Boots:           func(vsphere.Folder, vsphere.VM) {},
				GuestWrites: func(_ vsphere.Folder, vm vsphere.VM, key, value string) {
					hands.WriteGuestInfo(vm.Ref.Value, key, value)
				},
				AllowHotAdd: func(_ vsphere.Folder, vm vsphere.VM) {
					reconfigure(vm, func(vm *vsphere.VM) {
						vm.HotAdd = vsphere.HotAdd{CPU: true, Memory: true, CoresPerSocket: 1, MemoryLimitMiB: 16 * vm.MemoryMiB, MemoryStepMiB: 128}
					})
				},
				Snapshot:        func(_ vsphere.Folder, vm vsphere.VM) { s.Snapshot(vm.Ref.Value, "base") },
				RemoveSnapshots: func(_ vsphere.Folder, vm vsphere.VM) { s.RemoveSnapshots(vm.Ref.Value) },
				RootDiskGiB:     func(_ vsphere.Folder, vm vsphere.VM) int32 { return s.RootDiskGiB(vm.Ref.Value) },
				DisksGiB: func(_ vsphere.Folder, vm vsphere.VM) []int32 {
					sizes := []int32{s.RootDiskGiB(vm.Ref.Value)}
					for _, now := range s.VMs() {
						if now.Ref == vm.Ref {
							disks, _ := now.DataDisks.Attached()
							for _, d := range disks {
								sizes = append(sizes, d.SizeGiB)
							}
						}
					}
					return sizes
				},
				Network: func(_ vsphere.Folder, vm vsphere.VM) contract.Adapter {
					return contract.Adapter{Ref: s.NetworkOf(vm.Ref.Value)}
				},
				// Its templates have no configuration for a clone to copy.
				AddTemplate:   func(name string, _ vsphere.ReleaseMark) { s.AddTemplate(vsphere.Template{Name: name}) },
				MoveFolderOut: func(f vsphere.Folder) { hands.MoveFolderOut(f.Ref) },
			},
		}
	})
}
