package plan

import (
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func TestRemoval(t *testing.T) {
	gone := want{vms: "0:Deleting", doomed: "0"}
	with := func(actions, blockers string) want { w := gone; w.actions, w.blockers = actions, blockers; return w }
	runRules(t, []rule{
		{"first the tombstone", input(0, healthy(0)), with("MarkVM web-0", ""), nil},
		{"then power", input(0, has(makeVM(0, marked))), with("PowerOffVM web-0", ""), nil},
		{"a suspended VM as well", input(0, has(makeVM(0, marked, power(vsphere.Suspended)))), with("PowerOffVM web-0", ""), nil},
		{"unknown power as well", input(0, has(makeVM(0, marked, power(vsphere.PowerUnknown)))), with("PowerOffVM web-0", ""), nil},
		{"then the end", input(0, has(makeVM(0, marked, power(vsphere.PoweredOff)))), with("DestroyVM web-0", ""), nil},
		{"a tombstone alone dooms", input(1, has(makeVM(0, marked, power(vsphere.PoweredOff)))),
			want{actions: "DestroyVM web-0, CreateVM web-1", vms: "0:Deleting 1:Cloning", doomed: "0"}, nil},
		{"one operation at a time", input(0, has(makeVM(0, marked)), running(vsphere.OpPowerOff, 0, time.Hour)), with("", ""), nil},
		{"a disconnected VM waits", input(0, has(makeVM(0, marked, power(vsphere.PoweredOff), disconnected))),
			with("", "VMsLost!"), []string{"web-0 (vm-100)", "bring its host"}},
		{"a suspect VM waits", input(0, knowsOrdinals(0), doomed(0)), with("", ""), []string{"not seen any more"}},
		{"a VM elsewhere waits", input(0, awayVMs(0), doomed(0)), with("", "VMsLost!"), []string{"move them back into the group's folder, or delete them"}},
		{"one that was chosen waits while a suspect VM would be missed", input(2, healthy(0, 2), knowsOrdinals(1), doomed(2)),
			want{vms: "0:Ready 1:Lost 2:Deleting", doomed: "2", existing: 2, ready: 1, updated: 2}, nil},
		{"it does not wait if enough are left in any case", input(1, healthy(0, 2), knowsOrdinals(1), doomed(2)),
			want{actions: "MarkVM web-2", vms: "0:Ready 1:Lost 2:Deleting", doomed: "2", existing: 2, ready: 1, updated: 2}, nil},
		{"nor if its tombstone is written", input(2, healthy(0), knowsOrdinals(1), has(makeVM(2, marked)), doomed(2)),
			want{actions: "PowerOffVM web-2", vms: "0:Ready 1:Lost 2:Deleting", doomed: "2", existing: 2, ready: 1, updated: 2}, nil},
		{"a clone in flight waits", input(0, knows(intent(0, 0)), running(vsphere.OpClone, 0, 0), doomed(0)), with("", ""),
			[]string{"its clone has not ended"}},
		{"a clone that never came leaves", input(0, knows(intent(0, 0)), doomed(0)), want{settled: true}, nil},
		{"gone leaves", input(0, goneVMs(0), doomed(0, 5)), want{settled: true}, nil},
		{"Retain releases", input(0, healthy(0), spec(retain)), with("ReleaseVM web-0", ""), nil},
		{"Retain releases a marked VM", input(0, has(makeVM(0, marked)), spec(retain)), with("ReleaseVM web-0", ""), nil},
		{"released is forgotten", input(0, knowsOrdinals(0), doomed(0), sees(makeVM(0, unstamped)), spec(retain)),
			want{settled: true}, nil},
	})
}

func TestGroupDeletion(t *testing.T) {
	runRules(t, []rule{
		{"every VM", input(3, deleting, healthy(0), has(makeVM(1, marked), makeVM(2, marked, power(vsphere.PoweredOff)))),
			want{actions: "DestroyVM web-2, PowerOffVM web-1, MarkVM web-0",
				vms: "0:Deleting 1:Deleting 2:Deleting", doomed: "0 1 2"}, []string{"the group is being deleted"}},
		{"a VM that was never recorded", input(3, deleting, sees(makeVM(0))),
			want{actions: "MarkVM web-0", vms: "0:Deleting", doomed: "0"}, nil},
		{"Retain", input(1, deleting, healthy(0), spec(retain)),
			want{actions: "ReleaseVM web-0", vms: "0:Deleting", doomed: "0"}, nil},
		{"nothing is left", input(3, deleting), want{settled: true, gone: true}, nil},
		{"intents and deleted VMs do not hold it", input(3, deleting, goneVMs(0), knows(intent(1, 0))),
			want{settled: true, gone: true}, nil},
		{"a clone in flight does", input(3, deleting, running(vsphere.OpClone, 0, 0)),
			want{vms: "0:Deleting", doomed: "0"}, nil},
		{"an operation in flight does", input(3, deleting, running(vsphere.OpDestroy, 0, 0)), want{}, nil},
		{"a suspect VM does", input(3, deleting, knowsOrdinals(0)), want{vms: "0:Deleting", doomed: "0"}, nil},
		{"a VM elsewhere does", input(3, deleting, awayVMs(0)),
			want{blockers: "VMsLost!", vms: "0:Deleting", doomed: "0"}, nil},
		{"foreign VMs do not", input(3, deleting, sees(makeVM(0, unstamped), makeVM(1, called("copy")))),
			want{settled: true, gone: true}, nil},
	})
}

func TestFailures(t *testing.T) {
	failure := func(kind vsphere.OperationKind, ordinal int32, in time.Duration) vsphere.Failure {
		return vsphere.Failure{Kind: kind, Ordinal: ordinal, Err: said{vsphere.KindCapacity, "No room."},
			RetryAt: epoch.Add(in)}
	}
	old := failure(vsphere.OpClone, 0, time.Minute)
	old.Revision = "1-old"
	stuck := failure(vsphere.OpDestroy, 0, time.Minute)
	stuck.Err = said{vsphere.KindPermission, "No right."}
	off := has(makeVM(0, power(vsphere.PoweredOff)))
	runRules(t, []rule{
		{"a clone waits", input(2, healthy(1), failed(failure(vsphere.OpClone, 0, time.Minute))),
			want{blockers: "OutOfCapacity", vms: "0:Failed 1:Ready", existing: 1, ready: 1, updated: 1,
				wakeIn: time.Minute}, []string{"No room."}},
		{"and is tried again", input(1, failed(failure(vsphere.OpClone, 0, 0))),
			want{actions: "CreateVM web-0", blockers: "OutOfCapacity", vms: "0:Failed"}, nil},
		{"status does not flicker while it is", input(1, failed(failure(vsphere.OpClone, 0, 0)), running(vsphere.OpClone, 0, 0)),
			want{blockers: "OutOfCapacity", vms: "0:Cloning"}, []string{"No room."}},
		{"another revision is tried at once", input(1, failed(old)),
			want{actions: "CreateVM web-0", vms: "0:Cloning"}, nil},
		{"one reason is reported once, and counted", input(3, failed(failure(vsphere.OpClone, 0, time.Hour)),
			failed(failure(vsphere.OpClone, 1, time.Minute)), failed(failure(vsphere.OpClone, 2, 0))),
			want{actions: "CreateVM web-2", blockers: "OutOfCapacity", vms: "0:Failed 1:Failed 2:Failed",
				wakeIn: time.Minute}, []string{"No room. (The same for 2 more VMs.)"}},
		{"power waits", input(1, off, failed(failure(vsphere.OpPowerOn, 0, time.Minute))),
			want{blockers: "OutOfCapacity", vms: "0:Failed", existing: 1, updated: 1, repairing: true,
				wakeIn: time.Minute}, nil},
		{"another operation does not wait", input(0, off, failed(failure(vsphere.OpPowerOn, 0, time.Minute))),
			want{actions: "MarkVM web-0", vms: "0:Deleting", doomed: "0"}, nil},
		{"a failure of an operation that is not needed any more is not reported", input(1, healthy(0), failed(failure(vsphere.OpPowerOn, 0, time.Minute))),
			want{vms: "0:Ready", existing: 1, ready: 1, updated: 1, settled: true}, nil},
		{"a removal waits", input(0, has(makeVM(0, marked, power(vsphere.PoweredOff))), failed(stuck)),
			want{blockers: "PermissionDenied!", vms: "0:Deleting", doomed: "0", wakeIn: time.Minute}, []string{"No right."}},
	})
}
