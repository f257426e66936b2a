package vmgroup

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/fake"
	"github.com/codeconnect/vmgroup-operator/internal/webhook/forecast"
)

// specOf makes a change of spec from several.
func specOf(changes ...func(*v1alpha1.VmGroupSpec)) func(*v1alpha1.VmGroupSpec) {
	return func(s *v1alpha1.VmGroupSpec) {
		for _, change := range changes {
			change(s)
		}
	}
}

func cpus(cpu, coresPerSocket int32) func(*v1alpha1.VmGroupSpec) {
	return func(s *v1alpha1.VmGroupSpec) { s.CPU, s.CoresPerSocket = cpu, coresPerSocket }
}

func memoryGiB(n int32) func(*v1alpha1.VmGroupSpec) {
	return func(s *v1alpha1.VmGroupSpec) { s.Memory = n }
}

func noDisk(s *v1alpha1.VmGroupSpec) { s.Disks = nil }

func network(name string) func(*v1alpha1.VmGroupSpec) {
	return func(s *v1alpha1.VmGroupSpec) { s.Placement = &v1alpha1.Placement{Network: name} }
}

func resize(mode v1alpha1.ResizeMode) func(*v1alpha1.VmGroupSpec) {
	return func(s *v1alpha1.VmGroupSpec) { s.UpdateStrategy.Resize = mode }
}

func clones(mode v1alpha1.CloneMode) func(*v1alpha1.VmGroupSpec) {
	return func(s *v1alpha1.VmGroupSpec) { s.CloneMode = mode }
}

func retains(s *v1alpha1.VmGroupSpec) { s.DeletionPolicy = v1alpha1.DeletionRetain }

func off(s *v1alpha1.VmGroupSpec) { s.PowerState = v1alpha1.PoweredOff }

func without(s *v1alpha1.VmGroupSpec) { *s.Replicas = 0 }

// hotAdd lets the running VMs of a group grow.
func hotAdd(r *rig) {
	for _, vm := range r.vcenter.VMs() {
		r.vcenter.ByHand().Edit(vm.Name, func(vm *vsphere.VM) { vm.HotAdd.CPU, vm.HotAdd.Memory, vm.HotAdd.MemoryLimitMiB = true, true, 65536 })
	}
}

func disk(name string, sizeGiB int32) v1alpha1.DataDisk {
	return v1alpha1.DataDisk{Name: name, SizeGiB: sizeGiB}
}

func dataDisks(disks ...v1alpha1.DataDisk) func(*v1alpha1.VmGroupSpec) {
	return func(s *v1alpha1.VmGroupSpec) { s.Disks = &v1alpha1.Disks{Data: disks} }
}

// dataOf lists the data disks of a VM, with their sizes.
func dataOf(vm vsphere.VM) (list string) {
	attached, _ := vm.DataDisks.Attached()
	for _, d := range attached {
		list += fmt.Sprintf(" %s:%d", d.Name, d.SizeGiB)
		if d.UUID == "" {
			list += " without UUID"
		}
	}
	return list
}

func snapshotOfTheFirst(r *rig) { r.vcenter.Snapshot("web-0", "before") }

func ide(r *rig) {
	for _, vm := range r.vcenter.VMs() {
		r.vcenter.MoveToIDE(vm.Name)
	}
}

// TestEditsEndAsForetold has an edit of each field of a VM's shape: with and without VMs, while they are off, and with what is in the way. The rows show what admission says, the
// calls that change vCenter, how the update ends, and the VMs: the same ones or others, their CPUs with the cores per socket, GiB of memory, GiB of the root disk, and data disks.
func TestEditsEndAsForetold(t *testing.T) {
	for _, row := range []struct {
		story  string
		before func(*v1alpha1.VmGroupSpec)
		people func(*rig)
		edit   func(*v1alpha1.VmGroupSpec)
		want   string
	}{
		{"more CPUs", nil, nil, cpus(3, 0), "this change restarts 2 VMs one by one to resize | 2 PowerOn, 2 Reconfigure, 2 ShutdownGuest | UpToDate | 2× same 3/1, 2, 10"},
		{"more CPUs, with hot add", nil, hotAdd, cpus(3, 0), "this change resizes 2 VMs in place without a restart | 2 Reconfigure | UpToDate | 2× same 3/1, 2, 10"},
		{"fewer CPUs, with hot add", nil, hotAdd, cpus(1, 0), "this change restarts 2 VMs one by one to resize | 2 PowerOn, 2 Reconfigure, 2 ShutdownGuest | UpToDate | 2× same 1/1, 2, 10"},
		{"more CPUs, never a restart", resize(v1alpha1.ResizeHot), nil, cpus(3, 0), "2 VMs keep the size until powered off: it cannot change while a VM runs, and spec.updateStrategy.resize is Hot |  | RestartPending | 2× same 2/1, 2, 10"},
		{"more CPUs by other VMs", resize(v1alpha1.ResizeRecreate), nil, cpus(3, 0), "this change replaces 2 VMs one by one | 2 Clone, 2 Destroy, 2 Mark, 2 PowerOn, 2 ShutdownGuest | UpToDate | 2× new 3/1, 2, 10"},
		{"more CPUs of VMs that are off", off, nil, cpus(3, 0), "this change resizes 2 VMs in place without a restart | 2 Reconfigure | UpToDate | 2× same 3/1, 2, 10"},
		{"more CPUs without VMs", without, nil, cpus(3, 0), " |  | UpToDate | "},
		{"more memory", nil, nil, memoryGiB(3), "this change restarts 2 VMs one by one to resize | 2 PowerOn, 2 Reconfigure, 2 ShutdownGuest | UpToDate | 2× same 2/1, 3, 10"},
		{"more memory, with hot add", nil, hotAdd, memoryGiB(3), "this change resizes 2 VMs in place without a restart | 2 Reconfigure | UpToDate | 2× same 2/1, 3, 10"},
		{"less memory, with hot add", nil, hotAdd, memoryGiB(1), "this change restarts 2 VMs one by one to resize | 2 PowerOn, 2 Reconfigure, 2 ShutdownGuest | UpToDate | 2× same 2/1, 1, 10"},
		{"more memory and a CPU less, with hot add", nil, hotAdd, specOf(cpus(1, 0), memoryGiB(3)), "this change restarts 2 VMs one by one to resize | 2 PowerOn, 2 Reconfigure, 2 ShutdownGuest | UpToDate | 2× same 1/1, 3, 10"},
		{"sockets", nil, nil, cpus(2, 2), "this change restarts 2 VMs one by one to resize | 2 PowerOn, 2 Reconfigure, 2 ShutdownGuest | UpToDate | 2× same 2/2, 2, 10"},
		{"sockets, with hot add", nil, hotAdd, cpus(2, 2), "this change restarts 2 VMs one by one to resize | 2 PowerOn, 2 Reconfigure, 2 ShutdownGuest | UpToDate | 2× same 2/2, 2, 10"},
		{"sockets, never a restart", resize(v1alpha1.ResizeHot), nil, cpus(2, 2), "2 VMs keep the size until powered off: it cannot change while a VM runs, and spec.updateStrategy.resize is Hot |  | RestartPending | 2× same 2/1, 2, 10"},
		{"sockets of VMs that are off", off, nil, cpus(2, 2), "this change resizes 2 VMs in place without a restart | 2 Reconfigure | UpToDate | 2× same 2/2, 2, 10"},
		{"no sockets", cpus(4, 2), nil, cpus(4, 0), "this change restarts 2 VMs one by one to resize | 2 PowerOn, 2 Reconfigure, 2 ShutdownGuest | UpToDate | 2× same 4/1, 2, 10"},
		{"more CPUs in the same sockets, with hot add", cpus(2, 2), hotAdd, cpus(4, 2), "this change resizes 2 VMs in place without a restart | 2 Reconfigure | UpToDate | 2× same 4/2, 2, 10"},
		{"a disk", nil, nil, rootDisk(20), "this change grows disks of 2 VMs without a restart | 2 Reconfigure | UpToDate | 2× same 2/1, 2, 20"},
		{"a larger disk", rootDisk(20), nil, rootDisk(40), "this change grows disks of 2 VMs without a restart | 2 Reconfigure | UpToDate | 2× same 2/1, 2, 40"},
		{"no disk", rootDisk(20), nil, noDisk, " | 2 Reconfigure | UpToDate | 2× same 2/1, 2, 20"},
		{"a larger disk, never a restart", resize(v1alpha1.ResizeHot), nil, rootDisk(20), "this change grows disks of 2 VMs without a restart | 2 Reconfigure | UpToDate | 2× same 2/1, 2, 20"},
		{"a larger disk, other sizes by other VMs", resize(v1alpha1.ResizeRecreate), nil, rootDisk(20), "this change grows disks of 2 VMs without a restart | 2 Reconfigure | UpToDate | 2× same 2/1, 2, 20"},
		{"a larger disk of VMs that are off", off, nil, rootDisk(20), "this change grows disks of 2 VMs without a restart | 2 Reconfigure | UpToDate | 2× same 2/1, 2, 20"},
		{"a larger disk without VMs", without, nil, rootDisk(20), " |  | UpToDate | "},
		{"a larger disk of VMs that are retained", retains, nil, rootDisk(20), "this change grows disks of 2 VMs without a restart | 2 Reconfigure | UpToDate | 2× same 2/1, 2, 20"},
		{"a larger disk, with a snapshot", nil, snapshotOfTheFirst, rootDisk(20), "this change grows disks of 2 VMs without a restart | 2 Reconfigure | RolloutProgressing | 1× same 2/1, 2, 10; 1× same 2/1, 2, 20"},
		{"a larger disk on an IDE controller", nil, ide, rootDisk(20), "this change grows disks of 2 VMs without a restart | 2 PowerOn, 4 Reconfigure, 2 ShutdownGuest | UpToDate | 2× same 2/1, 2, 20"},
		{"a larger disk on an IDE controller, never a restart", resize(v1alpha1.ResizeHot), ide, rootDisk(20), "this change grows disks of 2 VMs without a restart | 2 Reconfigure | RestartPending | 2× same 2/1, 2, 10"},
		{"a larger disk of linked clones", clones(v1alpha1.CloneLinkedPreferred), nil, rootDisk(20), "2 VMs keep the root disk: linked clones share it with the template, and vCenter does not grow it; a new value of spec.updateStrategy.replaceTrigger replaces all VMs | 2 Reconfigure | RolloutProgressing | 2× same 2/1, 2, 10"},
		{"a larger disk and more CPUs", nil, nil, specOf(rootDisk(20), cpus(3, 0)), "this change restarts 2 VMs one by one to resize | 2 PowerOn, 4 Reconfigure, 2 ShutdownGuest | UpToDate | 2× same 3/1, 2, 20"},
		{"a larger disk and more CPUs, with hot add", nil, hotAdd, specOf(rootDisk(20), cpus(3, 0)), "this change resizes 2 VMs in place without a restart | 2 Reconfigure | UpToDate | 2× same 3/1, 2, 20"},
		{"a larger disk and more CPUs, with a snapshot", nil, snapshotOfTheFirst, specOf(rootDisk(20), cpus(3, 0)), "this change restarts 2 VMs one by one to resize | 1 PowerOn, 3 Reconfigure, 1 ShutdownGuest | RolloutProgressing | 1× same 2/1, 2, 10; 1× same 3/1, 2, 20"},
		{"a data disk", nil, nil, dataDisks(disk("data", 5)), "this change adds disks to 2 VMs without a restart | 2 Identify, 2 Reconfigure | UpToDate | 2× same 2/1, 2, 10 data:5"},
		{"a larger data disk", dataDisks(disk("data", 5)), nil, dataDisks(disk("data", 6)), "this change grows disks of 2 VMs without a restart | 2 Reconfigure | UpToDate | 2× same 2/1, 2, 10 data:6"},
		{"a larger data disk and another one", dataDisks(disk("data", 5)), nil, dataDisks(disk("logs", 1), disk("data", 6)), "this change adds disks to 2 VMs without a restart | 2 Identify, 2 Reconfigure | UpToDate | 2× same 2/1, 2, 10 data:6 logs:1"},
		{"data disks in another order", dataDisks(disk("data", 5), disk("logs", 1)), nil, dataDisks(disk("logs", 1), disk("data", 5)), " |  | UpToDate | 2× same 2/1, 2, 10 data:5 logs:1"},
		{"no data disk", dataDisks(disk("data", 5)), nil, noDisk, " | 2 Reconfigure | UpToDate | 2× same 2/1, 2, 10 data:5"},
		{"a data disk with another name", dataDisks(disk("data", 5)), nil, dataDisks(disk("db", 5)), "this change adds disks to 2 VMs without a restart | 2 Identify, 2 Reconfigure | UpToDate | 2× same 2/1, 2, 10 data:5 db:5"},
		{"another provisioning of a data disk", dataDisks(disk("data", 5)), nil, dataDisks(v1alpha1.DataDisk{Name: "data", SizeGiB: 5, Provisioning: v1alpha1.ProvisionThin}), " | 2 Reconfigure | UpToDate | 2× same 2/1, 2, 10 data:5"},
		{"a data disk of VMs that are off", off, nil, dataDisks(disk("data", 5)), "this change adds disks to 2 VMs without a restart | 2 Identify, 2 Reconfigure | UpToDate | 2× same 2/1, 2, 10 data:5"},
		{"a data disk without VMs", without, nil, dataDisks(disk("data", 5)), " |  | UpToDate | "},
		{"a data disk of VMs that are retained", retains, nil, dataDisks(disk("data", 5)), "this change adds disks to 2 VMs without a restart | 2 Identify, 2 Reconfigure | UpToDate | 2× same 2/1, 2, 10 data:5"},
		{"a data disk, with a snapshot", nil, snapshotOfTheFirst, dataDisks(disk("data", 5)), "this change adds disks to 2 VMs without a restart | 2 Identify, 2 Reconfigure | UpToDate | 2× same 2/1, 2, 10 data:5"},
		{"a larger data disk, with a snapshot", dataDisks(disk("data", 5)), snapshotOfTheFirst, dataDisks(disk("data", 6)), "this change grows disks of 2 VMs without a restart | 2 Reconfigure | RolloutProgressing | 1× same 2/1, 2, 10 data:5; 1× same 2/1, 2, 10 data:6"},
		{"a data disk on an IDE controller", nil, ide, dataDisks(disk("data", 5)), "this change adds disks to 2 VMs without a restart | 2 Identify, 2 PowerOn, 4 Reconfigure, 2 ShutdownGuest | UpToDate | 2× same 2/1, 2, 10 data:5"},
		{"a data disk of linked clones", clones(v1alpha1.CloneLinked), nil, dataDisks(disk("data", 5)), "this change adds disks to 2 VMs without a restart | 2 Identify, 2 Reconfigure | UpToDate | 2× same 2/1, 2, 10 data:5"},
		{"a larger data disk of linked clones", specOf(clones(v1alpha1.CloneLinked), dataDisks(disk("data", 5))), nil, dataDisks(disk("data", 6)), "this change grows disks of 2 VMs without a restart | 2 Reconfigure | UpToDate | 2× same 2/1, 2, 10 data:6"},
		{"a data disk and more CPUs", nil, nil, specOf(dataDisks(disk("data", 5)), cpus(3, 0)), "this change restarts 2 VMs one by one to resize | 2 Identify, 2 PowerOn, 4 Reconfigure, 2 ShutdownGuest | UpToDate | 2× same 3/1, 2, 10 data:5"},
		{"a data disk and a larger root disk", nil, nil, func(s *v1alpha1.VmGroupSpec) {
			dataDisks(disk("data", 5))(s)
			s.Disks.Root = &v1alpha1.RootDisk{SizeGiB: 20}
		}, "this change adds disks to 2 VMs without a restart | 2 Identify, 2 Reconfigure | UpToDate | 2× same 2/1, 2, 20 data:5"},
		{"a data disk and another template", nil, nil, specOf(dataDisks(disk("data", 5)), func(s *v1alpha1.VmGroupSpec) { s.Template = "debian-13" }), "this change replaces 2 VMs one by one | 2 Clone, 2 Destroy, 2 Identify, 2 Mark, 2 PowerOn, 2 ShutdownGuest | UpToDate | 2× new 2/1, 2, 10 data:5"},
		{"a network", nil, nil, network("blue"), "this change connects 2 VMs to another network without a restart | 2 Reconfigure | UpToDate | 2× same 2/1, 2, 10"},
		{"another network", network("blue"), nil, network("green"), "this change connects 2 VMs to another network without a restart | 2 Reconfigure | UpToDate | 2× same 2/1, 2, 10"},
		{"no network", network("blue"), nil, network(""), " | 2 Reconfigure | UpToDate | 2× same 2/1, 2, 10"},
		{"another network and a larger disk", network("blue"), nil, specOf(network("green"), rootDisk(20)), "this change grows disks of 2 VMs without a restart and connects 2 VMs to another network without a restart | 2 Reconfigure | UpToDate | 2× same 2/1, 2, 20"},
		{"another template", nil, nil, func(s *v1alpha1.VmGroupSpec) { s.Template = "debian-13" }, "this change replaces 2 VMs one by one | 2 Clone, 2 Destroy, 2 Mark, 2 PowerOn, 2 ShutdownGuest | UpToDate | 2× new 2/1, 2, 10"},
		{"another template of VMs that are retained", retains, nil, func(s *v1alpha1.VmGroupSpec) { s.Template = "debian-13" }, "2 VMs keep an older revision: only another VM could be like spec, and spec.deletionPolicy is Retain |  | RetainForbidsReplacement | 2× same 2/1, 2, 10"},
		{"another datastore", nil, nil, func(s *v1alpha1.VmGroupSpec) { s.Placement = &v1alpha1.Placement{Datastore: "ssd"} }, "this change replaces 2 VMs one by one | 2 Clone, 2 Destroy, 2 Mark, 2 PowerOn, 2 ShutdownGuest | UpToDate | 2× new 2/1, 2, 10"},
		{"linked clones", nil, nil, clones(v1alpha1.CloneLinked), "this change replaces 2 VMs one by one | 2 Clone, 2 Destroy, 2 Mark, 2 PowerOn, 2 ShutdownGuest | UpToDate | 2× new 2/1, 2, 10"},
		{"replaceTrigger", nil, nil, func(s *v1alpha1.VmGroupSpec) { s.UpdateStrategy.ReplaceTrigger = "again" }, "this change replaces 2 VMs one by one | 2 Clone, 2 Destroy, 2 Mark, 2 PowerOn, 2 ShutdownGuest | UpToDate | 2× new 2/1, 2, 10"},
	} {
		t.Run(row.story, func(t *testing.T) {
			r := newRig(t)
			for _, name := range []string{"debian-12", "debian-13"} {
				r.vcenter.RemoveTemplate(name)
				r.vcenter.AddTemplate(vsphere.Template{Name: name, CoresPerSocket: 1, RootDiskBytes: 10 << 30, DataDisks: 14, DataDisksLinked: 14, HasSnapshot: true})
			}
			r.vcenter.AddPlace(fake.Datastore, "/DC0/datastore/ssd")
			for _, name := range []string{"blue", "green"} {
				r.vcenter.AddPlace(fake.Network, "/DC0/network/"+name)
			}
			r.edit(func(s *v1alpha1.VmGroupSpec) {
				s.CPU, s.Memory, s.UpdateStrategy = 2, 2, &v1alpha1.UpdateStrategy{MaxSurge: new(intstr.FromInt32(0)), MaxUnavailable: new(intstr.FromInt32(1))}
				if row.before != nil {
					row.before(s)
				}
			})
			r.rounds(10)
			had := map[string]bool{}
			for _, vm := range r.vcenter.VMs() {
				had[vm.Ref.Value] = true
			}
			if row.people != nil {
				row.people(r)
				r.mustPass()
			}
			r.vcenter.ClearJournal()
			if got := r.foretoldAndDone(row.edit, had); got != row.want {
				t.Errorf("got\n%s\nwant\n%s", got, row.want)
			}
		})
	}
}

// foretoldAndDone makes an edit, and returns what the table says about it.
func (r *rig) foretoldAndDone(edit func(*v1alpha1.VmGroupSpec), had map[string]bool) string {
	r.t.Helper()
	old := r.group()
	next := old.DeepCopy()
	edit(&next.Spec)
	preview, err := r.Preview(r.t.Context(), v1alpha1.LocalMember, next)
	if err != nil {
		r.t.Fatal(err)
	}
	said := strings.Join(forecast.Sentences(forecast.Of(old, next, preview), false), "; ")
	r.edit(edit)
	r.rounds(30)
	counts := map[vsphere.OperationKind]int{}
	for _, call := range r.vcenter.Journal() {
		counts[call.Kind]++
	}
	calls := make([]string, 0, len(counts))
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		calls = append(calls, fmt.Sprintf("%d %s", counts[kind], kind))
	}
	shapes := map[string]int{}
	for _, vm := range r.vcenter.VMs() {
		which := "same"
		if !had[vm.Ref.Value] {
			which = "new"
		}
		shapes[fmt.Sprintf("%s %d/%d, %d, %d", which, vm.CPU, vm.HotAdd.CoresPerSocket, vm.MemoryMiB/1024, r.vcenter.RootDiskGiB(vm.Ref.Value))+dataOf(vm)]++
	}
	vms := make([]string, 0, len(shapes))
	for _, shape := range slices.Sorted(maps.Keys(shapes)) {
		vms = append(vms, fmt.Sprintf("%d× %s", shapes[shape], shape))
	}
	ends := meta.FindStatusCondition(r.group().Status.Conditions, v1alpha1.ConditionUpToDate)
	return fmt.Sprintf("%s | %s | %s | %s", said, strings.Join(calls, ", "), ends.Reason, strings.Join(vms, "; "))
}
