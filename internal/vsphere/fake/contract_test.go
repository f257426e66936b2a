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
		s.AddTemplate(vsphere.Template{Name: "debian-12"})
		hands := s.ByHand()
		return contract.Rig{
			Server: s, Template: "debian-12", Progress: func() { s.Step() },
			Person: contract.Person{
				AddVM:         func(f vsphere.Folder, name string) { hands.AddForeignVM(f.Ref, name) },
				CopyVM:        func(_ vsphere.Folder, vm vsphere.VM, as string) { hands.CopyVM(vm.Ref.Value, as) },
				Delete:        func(_ vsphere.Folder, vm vsphere.VM) { hands.Delete(vm.Ref.Value) },
				MoveOut:       func(_ vsphere.Folder, vm vsphere.VM) { hands.MoveOut(vm.Ref.Value) },
				MoveFolderOut: func(f vsphere.Folder) { hands.MoveFolderOut(f.Ref) },
			},
		}
	})
}
