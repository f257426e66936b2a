package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func TestIdentity(t *testing.T) {
	if got, want := InstanceUUID(groupID.Key(), 3, 1), "5d00a588-0ed7-5d9c-82a9-821866859d39"; got != want {
		t.Errorf("InstanceUUID changed to %s, was %s: VMs that exist would not be recognized", got, want)
	}
	if InstanceUUID(groupID.Key(), 1, 11) == InstanceUUID(groupID.Key(), 11, 1) {
		t.Error("ordinal and incarnation run into each other")
	}
	for name, want := range map[string]int32{"web-0": 0, "web-12": 12, "web-2147483647": 2147483647} {
		if got, ok := ordinalOf("web", name); !ok || got != want {
			t.Errorf("ordinalOf(%q) = %d, %t", name, got, ok)
		}
	}
	for _, name := range []string{"web", "web-", "web-01", "web--1", "web-+1", "web-1 ", "Web-1", "web-2147483648", "web-1-1"} {
		if got, ok := ordinalOf("web", name); ok {
			t.Errorf("ordinalOf(%q) = %d, but the group never uses that name", name, got)
		}
	}
}

func otherUUID(vm *vsphere.VM) { vm.InstanceUUID = "assigned-by-vcenter" }

// cloneMade is a clone in flight whose task has ended and created a VM.
func cloneMade(ordinal int32, moRef string) option {
	return func(in *Input) {
		in.Observation.InFlight = append(in.Observation.InFlight,
			vsphere.Operation{Kind: vsphere.OpClone, Ordinal: ordinal, VM: vsphere.VMRef(moRef), Since: in.Now})
	}
}

func TestClassification(t *testing.T) {
	copied := Foreign{MoRef: "vm-9", Name: "copy", Copy: true}
	for _, test := range []struct {
		name    string
		in      Input
		vms     string
		foreign []Foreign
	}{
		{"recorded", input(1, healthy(0)), "0:Ready", nil},
		{"recorded and renamed", input(1, has(makeVM(0, called("db")))), "0:Ready", nil},
		{"recorded and moved to another folder", input(1, has(makeVM(0, outside))), "0:Ready", nil},
		{"recorded, and vCenter gave it another UUID",
			input(1, knowsOrdinals(0), sees(makeVM(0, func(vm *vsphere.VM) { vm.InstanceUUID = "x" }))), "0:Ready", nil},
		{"a copy of a recorded VM", input(1, healthy(0), sees(makeVM(0, ref("vm-9"), called("copy"), outside))),
			"0:Ready", []Foreign{copied}},
		{"a copy that took the name of a recorded VM that was renamed",
			input(1, has(makeVM(0, called("old"))), sees(makeVM(0, ref("vm-9")))),
			"0:Ready", []Foreign{{MoRef: "vm-9", Name: "web-0", Copy: true, TakesName: true}}},
		{"a copy while the recorded VM is suspect", input(1, knowsOrdinals(0), sees(makeVM(0, ref("vm-9")))),
			"0:Lost", []Foreign{{MoRef: "vm-9", Name: "web-0", Copy: true, TakesName: true}}},
		{"a copy of the same incarnation when the recorded VM is deleted",
			input(1, goneVMs(0), sees(makeVM(0, ref("vm-9"), called("copy"), func(vm *vsphere.VM) { vm.InstanceUUID = "of-the-copy" }))), "0:Cloning", []Foreign{copied}},
		{"gone, and registered again under another name, with the instance UUID that was recorded",
			input(1, goneVMs(0), sees(makeVM(0, ref("vm-9"), called("old-web-0")))), "0:Ready", nil},
		{"gone, and registered again in another folder, with the instance UUID that was recorded",
			input(1, goneVMs(0), sees(makeVM(0, ref("vm-9"), outside))), "0:Ready", nil},
		{"a stale verdict replaces nothing", func() Input {
			in := input(1, goneVMs(0))
			in.Observation.Stale = in.Observation.Gone
			return in
		}(), "0:Lost", nil},
		{"gone, and registered again under another reference: its name, folder and UUID prove that it is ours",
			input(1, goneVMs(0), sees(makeVM(0, ref("vm-9")))), "0:Ready", nil},
		{"the replacement of a deleted VM",
			input(1, goneVMs(0), sees(makeVM(0, ref("vm-9"), incarnation(0, 1)))), "0:Ready", nil},
		{"a replacement while the recorded VM is only suspect",
			input(1, knowsOrdinals(0), sees(makeVM(0, ref("vm-9"), incarnation(0, 1), called("copy")))),
			"0:Lost", []Foreign{copied}},
		{"never recorded", input(1, sees(makeVM(0))), "0:Ready", nil},
		{"never recorded, above what is wanted", input(1, sees(makeVM(0), makeVM(4))), "0:Ready 4:Deleting", nil},
		{"never recorded and of another name", input(0, sees(makeVM(0, ref("vm-9"), called("copy")))), "",
			[]Foreign{copied}},
		{"never recorded and in another folder", input(0, sees(makeVM(0, ref("vm-9"), called("copy"), outside))), "",
			[]Foreign{copied}},
		{"never recorded, right name, wrong folder", input(0, sees(makeVM(0, ref("vm-9"), outside))), "",
			[]Foreign{{MoRef: "vm-9", Name: "web-0", Copy: true}}},
		{"never recorded, right name, wrong UUID",
			input(0, sees(makeVM(0, ref("vm-9"), func(vm *vsphere.VM) { vm.InstanceUUID = "x" }))), "",
			[]Foreign{{MoRef: "vm-9", Name: "web-0", Copy: true, TakesName: true}}},
		{"two that both look ours: neither is proven", input(0, sees(makeVM(0), makeVM(0, ref("vm-9")))), "",
			[]Foreign{
				{MoRef: "vm-100", Name: "web-0", Copy: true, TakesName: true},
				{MoRef: "vm-9", Name: "web-0", Copy: true, TakesName: true},
			}},
		{"an intent that status went back to, and its VM was replaced since",
			input(1, knows(intent(0, 0)), sees(makeVM(0, incarnation(0, 1)))), "0:Ready", nil},
		{"an intent whose clone in flight made it, and vCenter gave it another UUID",
			input(1, knows(intent(0, 0)), cloneMade(0, "vm-100"), sees(makeVM(0, otherUUID))), "0:Ready", nil},
		{"never recorded, but made by a clone in flight, with another UUID",
			input(1, cloneMade(0, "vm-100"), sees(makeVM(0, otherUUID))), "0:Ready", nil},
		{"made by a clone in flight, but of another incarnation than intended",
			input(1, knows(intent(0, 1)), cloneMade(0, "vm-100"), sees(makeVM(0, otherUUID))), "0:Cloning",
			[]Foreign{{MoRef: "vm-100", Name: "web-0", Copy: true, TakesName: true}}},
		{"made by a clone in flight, but renamed: a copy may have the name",
			input(1, knows(intent(0, 0)), cloneMade(0, "vm-100"), sees(makeVM(0, otherUUID, called("x")))), "0:Cloning",
			[]Foreign{{MoRef: "vm-100", Name: "x", Copy: true}}},
		{"another UUID, and another VM was made by the clone in flight",
			input(1, knows(intent(0, 0)), cloneMade(0, "vm-9"), sees(makeVM(0, otherUUID))), "0:Cloning",
			[]Foreign{{MoRef: "vm-100", Name: "web-0", Copy: true, TakesName: true}}},
		{"a recorded intent", input(1, knows(intent(0, 0)), sees(makeVM(0))), "0:Ready", nil},
		{"a recorded intent of another incarnation", input(0, knows(intent(0, 1)), sees(makeVM(0))), "",
			[]Foreign{{MoRef: "vm-100", Name: "web-0", Copy: true, TakesName: true}}},
		{"not stamped", input(0, sees(makeVM(0, unstamped, called("db")), makeVM(1, strange))), "",
			[]Foreign{{MoRef: "vm-100", Name: "db"}, {MoRef: "vm-101", Name: "web-1", TakesName: true}}},
		{"recorded, and its stamp was removed", input(0, knowsOrdinals(0), doomed(0), sees(makeVM(0, unstamped))), "",
			[]Foreign{{MoRef: "vm-100", Name: "web-0", TakesName: true, Released: true}}},
		{"a stamp with an ordinal that does not exist", input(0, sees(makeVM(-1, ref("vm-9")))), "",
			[]Foreign{{MoRef: "vm-9", Name: "web--1", Copy: true, Ordinal: -1}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := Compute(test.in)
			if got := vmsOf(p); got != test.vms {
				t.Errorf("vms are %q, want %q", got, test.vms)
			}
			if diff := cmp.Diff(test.foreign, p.Foreign); diff != "" {
				t.Errorf("foreign VMs differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestIncompleteObservation(t *testing.T) {
	const blocker = v1alpha1.ReasonInventoryIncomplete
	runRules(t, []rule{
		{"nothing is known", input(3, incomplete), want{blockers: blocker}, nil},
		{"what is recorded is shown", input(3, incomplete, healthy(0), knowsOrdinals(1), knows(intent(2, 0))),
			want{blockers: blocker, vms: "0:Ready 1:Lost 2:Cloning", existing: 2, ready: 1, updated: 2},
			[]string{"not seen while the inventory of vCenter is incomplete"}},
		{"gone is not believed", input(1, incomplete, goneVMs(0)),
			want{blockers: blocker, vms: "0:Lost", existing: 1, updated: 1}, nil},
		{"a stamp that is not read yet does not make a VM foreign",
			input(1, incomplete, knowsOrdinals(0), sees(makeVM(0, unstamped))),
			want{blockers: blocker, vms: "0:Lost", existing: 1, updated: 1}, nil},
		{"nothing is adopted", input(1, incomplete, sees(makeVM(0))), want{blockers: blocker}, nil},
		{"nothing is doomed", input(0, incomplete, healthy(0), doomed(7)),
			want{blockers: blocker, vms: "0:Ready", doomed: "7", existing: 1, ready: 1, updated: 1}, nil},
		{"a deleted group is not gone", input(0, incomplete, deleting), want{blockers: blocker}, nil},
		{"the inventory reports the reason", input(0, incomplete, func(in *Input) { in.Observation.Incomplete = "vc-1 is down." }),
			want{blockers: blocker}, []string{"vc-1 is down."}},
	})
}

func TestPause(t *testing.T) {
	const blocker = v1alpha1.ReasonPaused
	runRules(t, []rule{
		{"nothing is created", input(2, paused), want{blockers: blocker}, nil},
		{"nothing is doomed", input(0, paused, healthy(0)),
			want{blockers: blocker, vms: "0:Ready", existing: 1, ready: 1, updated: 1}, nil},
		{"nothing is repaired and nothing forgotten", input(2, paused, has(makeVM(0, power(vsphere.PoweredOff))), goneVMs(1)),
			want{blockers: blocker, vms: "0:Unhealthy 1:Lost", existing: 1, updated: 1}, nil},
		{"a removal in progress does not continue", input(0, paused, has(makeVM(0, marked))),
			want{blockers: blocker, vms: "0:Deleting", doomed: "0"}, nil},
		{"a deleted group stays", input(0, paused, deleting, healthy(0)),
			want{blockers: blocker, vms: "0:Ready", existing: 1, ready: 1, updated: 1}, nil},
		{"a deleted group without VMs stays as well", input(0, paused, deleting), want{blockers: blocker}, nil},
	})
}
