package plan

import (
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// oldGroup is the group whose VMs are adopted.
var oldGroup = vsphere.GroupID{Installation: "hub", Member: "team-a", Group: "5e2f0c6d-0000-4000-8000-000000000001"}

// theOlds makes a VM belong to the old group.
func theOlds(vm *vsphere.VM) {
	s := *vm.Stamp
	s.GroupID = oldGroup
	vm.Stamp = &s
	vm.InstanceUUID = InstanceUUID(oldGroup.Key(), s.Ordinal, 0)
	vm.Folder = away
}

func here(vm *vsphere.VM) { vm.Folder = folder }

// adopts gives the group VMs to adopt. Those in its folder, or recorded, are observed as well.
func adopts(vms ...vsphere.VM) option {
	return func(in *Input) {
		in.Adoption = &Adoption{From: oldGroup.Group}
		for i := range vms {
			vm := vms[i]
			if vm.Folder == folder {
				in.Observation.VMs = append(in.Observation.VMs, vm)
			}
			in.Adoption.Candidates = append(in.Adoption.Candidates, Candidate{
				VM: vm, Origin: vsphere.Origin{Stamp: vm.Stamp}, Ordinal: vm.Stamp.Ordinal, Revision: vm.Stamp.Revision,
			})
		}
	}
}

func waitsFor(terminal bool) option {
	return func(in *Input) {
		in.Adoption = &Adoption{From: oldGroup.Group, Waits: &Blocker{Reason: "Why", Message: "why", Terminal: terminal}}
	}
}

// recordedAs is the record of a VM that is being adopted.
func recordedAs(ordinal int32, moRef string) Known {
	return Known{Ordinal: ordinal, MoRef: moRef, Phase: v1alpha1.VMAdopting}
}

func TestVMsAreTakenOverBeforeAnythingElseIsDone(t *testing.T) {
	off, other := power(vsphere.PoweredOff), called("db-7")
	for _, test := range []struct {
		name string
		in   Input
		want want
	}{
		{"moved first", input(2, adopts(makeVM(0, theOlds), makeVM(1, theOlds))),
			want{actions: "MoveVM web-0, MoveVM web-1", blockers: "Adopting", vms: "0:Adopting 1:Adopting"}},
		{"then renamed", input(1, adopts(makeVM(0, theOlds, here, other))), want{actions: "RenameVM web-0", blockers: "Adopting", vms: "0:Adopting"}},
		{"stamped last", input(1, adopts(makeVM(0, theOlds, here))), want{actions: "AdoptVM web-0", blockers: "Adopting", vms: "0:Adopting"}},
		{"as was recorded", input(3, adopts(makeVM(0, theOlds, other)), knows(recordedAs(2, "vm-100"))),
			want{actions: "MoveVM web-2", blockers: "Adopting", vms: "2:Adopting"}},
		{"the record of a VM that is not to be taken counts for nothing", input(0, knows(recordedAs(0, "vm-100")), sees(makeVM(0, theOlds))),
			want{settled: true}},
		{"by the name that it has", input(3, adopts(makeVM(0, theOlds, called("web-2")))), want{actions: "MoveVM web-2", blockers: "Adopting", vms: "2:Adopting"}},
		{"the ordinal is another VM's", input(2, healthy(0), adopts(makeVM(0, theOlds, ref("vm-9"), other))),
			want{actions: "MoveVM web-1", blockers: "Adopting", vms: "0:Ready 1:Adopting", existing: 1, ready: 1, updated: 1}},
		{"the name is a foreign VM's", input(1, sees(makeVM(0, strange, ref("vm-5"))), adopts(makeVM(0, theOlds))),
			want{actions: "MoveVM web-1", blockers: "Adopting, NameConflict", vms: "1:Adopting"}},
		{"nothing is cloned beside it, nothing is powered and nothing is repaired", input(5, has(makeVM(3, off)), goneVMs(4), adopts(makeVM(0, theOlds, off))),
			want{actions: "MoveVM web-0", blockers: "Adopting", vms: "0:Adopting 3:Unhealthy 4:Lost", existing: 1, updated: 1}},
		{"no more than are wanted", input(1, adopts(makeVM(0, theOlds), makeVM(1, theOlds))), want{actions: "MoveVM web-0", blockers: "Adopting", vms: "0:Adopting"}},
		{"those that are on their way first", input(1, adopts(makeVM(0, theOlds), makeVM(1, theOlds, here))),
			want{actions: "AdoptVM web-1", blockers: "Adopting", vms: "1:Adopting"}},
		{"what is not wanted any more stays what it is", input(1, healthy(0), adopts(makeVM(1, theOlds)), knows(recordedAs(1, "vm-101"))),
			want{vms: "0:Ready", existing: 1, ready: 1, updated: 1, settled: true}},
		{"a call under way is waited for", input(1, adopts(makeVM(0, theOlds)), knows(recordedAs(0, "vm-100")), running(vsphere.OpMove, 0, 0)),
			want{blockers: "Adopting", vms: "0:Adopting"}},
		{"the plan waits for an unrecorded call in progress", input(2, adopts(makeVM(0, theOlds)), running(vsphere.OpMove, 1, 0), func(in *Input) {
			in.Observation.InFlight[0].VM = vsphere.VMRef("vm-100")
		}), want{blockers: "Adopting", vms: "1:Adopting"}},
		{"what carries nothing is claimed first", input(1, adopts(makeVM(0, theOlds)), func(in *Input) {
			in.Adoption.Candidates[0].Origin = vsphere.Origin{Folder: away}
		}), want{actions: "ClaimVM web-0", blockers: "Adopting", vms: "0:Adopting"}},
		{"paused", input(1, adopts(makeVM(0, theOlds)), paused), want{blockers: "Paused, Adopting", vms: "0:Adopting"}},
		{"incomplete", input(1, adopts(makeVM(0, theOlds)), incomplete), want{blockers: "InventoryIncomplete, Adopting", vms: "0:Adopting"}},
		{"its host is disconnected", input(1, adopts(makeVM(0, theOlds, disconnected))), want{blockers: "Adopting", vms: "0:Adopting"}},
		{"unknown: nothing is done at all", input(1, healthy(0, 1), waitsFor(false)),
			want{blockers: "Why", vms: "0:Ready 1:Ready", existing: 2, ready: 2, updated: 2}},
		{"refused: nothing is cloned", input(2, healthy(0), waitsFor(true)), want{blockers: "Why!", vms: "0:Ready", existing: 1, ready: 1, updated: 1}},
		{"refused: other work continues", input(1, has(makeVM(0, off)), waitsFor(true)),
			want{actions: "PowerOnVM web-0", blockers: "Why!", vms: "0:Unhealthy", existing: 1, updated: 1, repairing: true}},
	} {
		t.Run(test.name, func(t *testing.T) { check(t, test.in, test.want) })
	}
}

func TestAnAdoptedVMThatNobodyRecordedIsKnownByTheUUIDInItsStamp(t *testing.T) {
	taken := makeVM(0, func(vm *vsphere.VM) { vm.InstanceUUID, vm.Stamp.UUID = "420a", "420A" })
	check(t, input(1, sees(taken)), want{vms: "0:Ready", existing: 1, ready: 1, updated: 1, settled: true})
	taken.InstanceUUID = "420b"
	if p := Compute(input(1, sees(taken))); len(p.Foreign) != 1 || !p.Foreign[0].Copy {
		t.Errorf("a copy of it is %+v", p.Foreign)
	}
}

func TestANameThatVCenterRefusesIsPassedOver(t *testing.T) {
	refused := func(kind vsphere.OperationKind) option {
		return failed(vsphere.Failure{Kind: kind, Ordinal: 0, Err: said{kind: vsphere.KindNameTaken, text: "taken"}, At: epoch, RetryAt: epoch.Add(1), Count: 1})
	}
	vm := makeVM(0, theOlds, here, called("db-7"))
	if p := Compute(input(1, adopts(vm), knows(recordedAs(0, "vm-100")), refused(vsphere.OpRename))); actionsOf(p) != "RenameVM web-1" {
		t.Errorf("planned %s", actionsOf(p))
	}
	vm.Folder = away
	if p := Compute(input(1, adopts(vm), knows(recordedAs(0, "vm-100")), refused(vsphere.OpMove))); actionsOf(p) != "RenameVM web-0" {
		t.Errorf("planned %s", actionsOf(p))
	}
}

func TestWhatIsLeftToTakeOverIsCounted(t *testing.T) {
	p := Compute(input(1, adopts(makeVM(0, theOlds), makeVM(1, theOlds), makeVM(2, theOlds))))
	if p.Adopting != 1 || p.LeftToAdopt != 2 || !strings.Contains(p.Blockers[0].Message, "Taking over 1 VM of the VmGroup with UID "+oldGroup.Group) {
		t.Errorf("%d are taken, %d left: %+v", p.Adopting, p.LeftToAdopt, p.Blockers)
	}
	if p = Compute(input(1, healthy(0), adopts(makeVM(1, theOlds)))); p.Adopting != 0 || p.LeftToAdopt != 1 {
		t.Errorf("%d are taken, %d left", p.Adopting, p.LeftToAdopt)
	}
	a := Compute(input(1, adopts(makeVM(0, theOlds)))).Actions[0]
	if a.MoRef != "vm-100" || a.Origin.Stamp == nil || *a.Origin.Stamp != *makeVM(0, theOlds).Stamp || a.UUID != InstanceUUID(oldGroup.Key(), 0, 0) || a.Revision != revision {
		t.Errorf("the action says %+v", a)
	}
}
