package contract_test

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/vmware/govmomi/object"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/budget"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/contract"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/session"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

const volume = "[LocalDS_0] fcd/volume.vmdk"

// TestGovmomi runs the contract against govmomi's simulator, in both modes of observation.
func TestGovmomi(t *testing.T) {
	for _, mode := range []govmomi.Mode{govmomi.Watch, govmomi.Poll} {
		t.Run(string(mode), func(t *testing.T) {
			contract.ServerContract(t, func(t *testing.T) contract.Rig { return start(t, mode) })
		})
	}
}

func start(t *testing.T, mode govmomi.Mode) contract.Rig {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	vcsim, err := sim.Start(sim.Options{Privileges: slices.Concat(sim.OperatorPrivileges, sim.AdoptionPrivileges, sim.DiskPrivileges)})
	must(err)
	t.Cleanup(vcsim.Close)
	ctx, cancel := context.WithCancel(context.Background())
	person, err := vcsim.Operator(ctx)
	must(err)
	t.Cleanup(person.Close)
	must(person.CreateFolders(ctx, "/DC0/vm/elsewhere"))
	must(person.AddRootDisk(ctx, "/DC0/vm/vm-operator-template", 2))
	server := govmomi.New(govmomi.Config{
		Name: "test", Installation: "inst-1", Mode: mode, PollInterval: 20 * time.Millisecond,
		// The simulator's watch does not report a VM that leaves the root folder; the next listing does.
		ResyncInterval: 200 * time.Millisecond,
		Limits:         budget.Limits{Tasks: 8, TasksPerHost: 4},
		Session:        session.Config{URL: vcsim.URL, Username: "user", Password: "pass", UserAgent: "vmgroup-operator/contract"},
	})
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return contract.Rig{
		Server: server, Template: "vm-operator-template", Network: "DC0_DVPG0",
		Person: contract.Person{
			AddVM: func(f vsphere.Folder, name string) {
				_, err := person.CreateVM(ctx, f.Path, name)
				must(err)
			},
			CopyVM: func(f vsphere.Folder, vm vsphere.VM, as string) {
				_, err := person.Copy(ctx, f.Path+"/"+vm.Name, f.Path, as)
				must(err)
			},
			Delete:  func(f vsphere.Folder, vm vsphere.VM) { must(person.Destroy(ctx, f.Path+"/"+vm.Name)) },
			MoveOut: func(f vsphere.Folder, vm vsphere.VM) { must(person.Move(ctx, f.Path+"/"+vm.Name, "/DC0/vm/elsewhere")) },
			Reregister: func(f vsphere.Folder, vm vsphere.VM, outside bool) vsphere.Ref {
				into := f.Path
				if outside {
					into = "/DC0/vm/elsewhere"
				}
				ref, err := person.Reregister(ctx, f.Path+"/"+vm.Name, into)
				must(err)
				return vsphere.VMRef(ref.Value)
			},
			OutsidePath: "/DC0/vm/elsewhere",
			Outside: func() vsphere.Ref {
				found, err := object.NewSearchIndex(person.Client()).FindByInventoryPath(ctx, "/DC0/vm/elsewhere")
				must(err)
				return vsphere.FolderRef(found.Reference().Value)
			},
			Unstamp: func(f vsphere.Folder, vm vsphere.VM) {
				must(person.Set(ctx, f.Path+"/"+vm.Name, map[string]string{inventory.KeyOwner: ""}))
			},
			SetReleaseMark: func(f vsphere.Folder, vm vsphere.VM, mark *vsphere.ReleaseMark) {
				must(person.Set(ctx, f.Path+"/"+vm.Name, map[string]string{inventory.KeyReleased: encoded(t, mark)}))
			},
			AttachDisk: func(f vsphere.Folder, vm vsphere.VM) {
				must(person.AddDisk(ctx, f.Path+"/"+vm.Name, volume, "6f1-2"))
			},
			DetachDisk:      func(f vsphere.Folder, vm vsphere.VM) { must(person.DetachDisk(ctx, f.Path+"/"+vm.Name, volume)) },
			SetTemplateInfo: func(keys map[string]string) { must(person.SetTemplate(ctx, "/DC0/vm/vm-operator-template", keys)) },
			GuestInfo: func(f vsphere.Folder, vm vsphere.VM) map[string]string {
				info, err := person.GuestInfo(ctx, f.Path+"/"+vm.Name)
				must(err)
				return info
			},
			Boots: func(f vsphere.Folder, vm vsphere.VM) {
				must(person.Set(ctx, f.Path+"/"+vm.Name, map[string]string{sim.GuestBoot: "0s"}))
			},
			GuestWrites: func(f vsphere.Folder, vm vsphere.VM, key, value string) {
				key, value = sim.GuestWrites(key, 0, value)
				must(person.Set(ctx, f.Path+"/"+vm.Name, map[string]string{key: value}))
			},
			AllowHotAdd:     func(f vsphere.Folder, vm vsphere.VM) { must(person.AllowHotAdd(ctx, f.Path+"/"+vm.Name)) },
			Snapshot:        func(f vsphere.Folder, vm vsphere.VM) { must(person.Snapshot(ctx, f.Path+"/"+vm.Name)) },
			RemoveSnapshots: func(f vsphere.Folder, vm vsphere.VM) { must(person.RemoveSnapshots(ctx, f.Path+"/"+vm.Name)) },
			RootDiskGiB: func(f vsphere.Folder, vm vsphere.VM) int32 {
				size, err := person.RootDiskGiB(ctx, f.Path+"/"+vm.Name)
				must(err)
				return size
			},
			DisksGiB: func(f vsphere.Folder, vm vsphere.VM) (sizes []int32) {
				disks, err := person.Disks(ctx, f.Path+"/"+vm.Name)
				must(err)
				slices.SortFunc(disks, func(a, b types.VirtualDisk) int { return cmp.Compare(a.Key, b.Key) })
				for i := range disks {
					sizes = append(sizes, int32(disks[i].CapacityInBytes>>30))
				}
				return sizes
			},
			Network: func(f vsphere.Folder, vm vsphere.VM) contract.Adapter {
				network, mac, err := person.Adapter(ctx, f.Path+"/"+vm.Name)
				must(err)
				return contract.Adapter{Ref: vsphere.Ref{Type: network.Type, Value: network.Value}, MAC: mac}
			},
			AddTemplate: func(name string, mark vsphere.ReleaseMark) {
				_, err := person.CreateVM(ctx, "/DC0/vm", name)
				must(err)
				must(person.Set(ctx, "/DC0/vm/"+name, map[string]string{inventory.KeyReleased: encoded(t, &mark)}))
				must(person.MarkAsTemplate(ctx, "/DC0/vm/"+name))
			},
			MoveFolderOut: func(f vsphere.Folder) { must(person.MoveFolder(ctx, f.Path, "/DC0/vm")) },
		},
	}
}

// encoded is a release mark in extraConfig, or empty without one.
func encoded(t *testing.T, mark *vsphere.ReleaseMark) string {
	t.Helper()
	if mark == nil {
		return ""
	}
	kvs, err := inventory.EncodeRelease(*mark)
	if err != nil {
		t.Fatal(err)
	}
	return kvs[slices.IndexFunc(kvs, func(kv inventory.KV) bool { return kv.Key == inventory.KeyReleased })].Value
}
