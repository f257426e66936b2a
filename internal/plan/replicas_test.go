package plan

import (
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func TestReplicasUp(t *testing.T) {
	runRules(t, []rule{
		{"from nothing", input(2),
			want{actions: "CreateVM web-0, CreateVM web-1", vms: "0:Cloning 1:Cloning"},
			[]string{"the group wants 2 VMs and has 0"}},
		{"replicas unset means one", input(0, spec(func(s *v1alpha1.VmGroupSpec) { s.Replicas = nil })),
			want{actions: "CreateVM web-0", vms: "0:Cloning"}, nil},
		{"zero is settled", input(0), want{settled: true}, nil},
		{"all there", input(2, healthy(0, 1)),
			want{vms: "0:Ready 1:Ready", existing: 2, ready: 2, updated: 2, settled: true}, nil},
		{"the lowest free ordinal first", input(4, healthy(1, 3)),
			want{actions: "CreateVM web-0, CreateVM web-2", vms: "0:Cloning 1:Ready 2:Cloning 3:Ready",
				existing: 2, ready: 2, updated: 2}, nil},
		{"a clone in flight counts", input(2, knows(intent(0, 0)), running(vsphere.OpClone, 0, 0), running(vsphere.OpClone, 1, 0)),
			want{vms: "0:Cloning 1:Cloning"}, nil},
		{"a finished clone that is still listed counts once", input(1, sees(makeVM(0)), running(vsphere.OpClone, 0, 0)),
			want{vms: "0:Ready", existing: 1, ready: 1, updated: 1}, nil},
		{"an intent is carried out", input(1, knows(intent(0, 0))),
			want{actions: "CreateVM web-0", vms: "0:Cloning"}, nil},
		{"an intent that is not wanted any more is dropped", input(0, knows(intent(0, 0))), want{settled: true}, nil},
		{"an intent above a free ordinal is dropped", input(1, knows(intent(3, 0))),
			want{actions: "CreateVM web-0", vms: "0:Cloning"}, nil},
		{"a suspect VM counts", input(2, healthy(0), knowsOrdinals(1)),
			want{vms: "0:Ready 1:Lost", existing: 2, ready: 1, updated: 2},
			[]string{"not found; waiting for vCenter to confirm"}},
		{"a VM elsewhere counts", input(2, healthy(0), awayVMs(1)),
			want{blockers: "VMsLost!", vms: "0:Ready 1:Lost", existing: 2, ready: 1, updated: 2},
			[]string{"web-1 (vm-101)", "move them back into the group's folder, or delete them"}},
		{"a doomed VM does not count, and its ordinal is not free", input(1, has(makeVM(0, marked)), doomed(0)),
			want{actions: "PowerOffVM web-0, CreateVM web-1", vms: "0:Deleting 1:Cloning", doomed: "0"}, nil},
		{"an ordinal whose doomed VM is deleted is free again", input(1, goneVMs(0), doomed(0)),
			want{actions: "CreateVM web-0", vms: "0:Cloning"}, nil},
		{"an ordinal with an unexplained operation is not free", input(1, running(vsphere.OpDestroy, 0, 0)),
			want{actions: "CreateVM web-1", vms: "1:Cloning"}, nil},
		{"creating is blocked", input(2, createBlocked, healthy(0), knows(intent(1, 0))),
			want{blockers: "TemplateNotFound!", vms: "0:Ready 1:Cloning", existing: 1, ready: 1, updated: 1}, nil},
		{"creating is blocked and not wanted", input(1, createBlocked, healthy(0)),
			want{vms: "0:Ready", existing: 1, ready: 1, updated: 1, settled: true}, nil},
	})
}

func TestSpecs(t *testing.T) {
	ready := want{vms: "0:Ready", existing: 1, ready: 1, updated: 1}
	with := func(blockers string) want { w := ready; w.blockers = blockers; return w }
	runRules(t, []rule{
		{"an empty spec leaves VMs alone",
			input(0, has(makeVM(0, power(vsphere.PoweredOff))), func(in *Input) { in.Spec = v1alpha1.VmGroupSpec{} }),
			want{blockers: "InvalidSpec!", vms: "0:Unhealthy", existing: 1, updated: 1}, []string{"spec is empty"}},
		{"impossible replicas leave VMs alone", input(-1, healthy(0)), with("InvalidSpec!"), []string{"spec.replicas is -1"}},
		{"absurd replicas create nothing", input(1<<30, healthy(0)), with("InvalidSpec!"), []string{"from 0 to 500"}},
		{"no cpu, no memory, no template",
			input(2, healthy(0), spec(func(s *v1alpha1.VmGroupSpec) { s.CPU, s.Memory, s.Template = 0, 0, "" })),
			with("InvalidSpec!"), []string{"spec.cpu is 0", "spec.memory is 0 GiB", "spec.template is empty"}},
		{"disks that the schema refuses",
			input(2, healthy(0), spec(func(s *v1alpha1.VmGroupSpec) {
				s.Disks = disksOf(-1, v1alpha1.DataDisk{Name: "a", SizeGiB: 0}, v1alpha1.DataDisk{Name: "b", SizeGiB: 1}, v1alpha1.DataDisk{Name: "b", SizeGiB: 2}, v1alpha1.DataDisk{Name: "C", SizeGiB: 1})
			})),
			with("InvalidSpec!"), []string{"spec.disks.root.sizeGiB is -1", "spec.disks.data[a].sizeGiB is 0", `name "C"`, "two disks with the name b"}},
		{"more data disks than the schema allows",
			input(2, healthy(0), spec(func(s *v1alpha1.VmGroupSpec) { s.Disks = disksOf(0, make([]v1alpha1.DataDisk, 13)...) })),
			with("InvalidSpec!"), []string{"spec.disks.data has 13 disks, the most is 12"}},
		{"an invalid spec can still shrink",
			input(0, healthy(0), spec(func(s *v1alpha1.VmGroupSpec) { s.Template = "" })),
			want{actions: "MarkVM web-0", blockers: "InvalidSpec!", vms: "0:Deleting", doomed: "0"}, nil},
		{"nothing of this holds a deletion",
			input(2, healthy(0), deleting, createBlocked, func(in *Input) { in.Spec = v1alpha1.VmGroupSpec{} }),
			want{actions: "MarkVM web-0", vms: "0:Deleting", doomed: "0"}, nil},
	})
}

func TestNamesTaken(t *testing.T) {
	foreign := makeVM(0, strange, ref("vm-9"))
	runRules(t, []rule{
		{"the next ordinal is used", input(1, sees(foreign)),
			want{actions: "CreateVM web-1", blockers: "NameConflict", vms: "1:Cloning"},
			[]string{"The name web-0", "taken by vm-9", "rename or move vm-9"}},
		{"and then the group is settled", input(1, sees(foreign), healthy(1)),
			want{blockers: "NameConflict", vms: "1:Ready", existing: 1, ready: 1, updated: 1, settled: true}, nil},
		{"but a released VM is kept on request",
			input(1, sees(makeVM(0, incarnation(0, 3), unstamped, ref("vm-9"))), healthy(1)),
			want{vms: "1:Ready", existing: 1, ready: 1, updated: 1, settled: true}, nil},
		{"a name above those in use blocks no VM",
			input(1, healthy(0), sees(makeVM(5, strange))),
			want{vms: "0:Ready", existing: 1, ready: 1, updated: 1, settled: true}, nil},
		{"a VM of ours that was renamed takes a name", input(2, has(makeVM(0, called("web-1")))),
			want{actions: "CreateVM web-2", blockers: "NameConflict", vms: "0:Ready 2:Cloning",
				existing: 1, ready: 1, updated: 1}, nil},
		{"an intent whose name was taken moves on", input(1, knows(intent(0, 0)), sees(foreign)),
			want{actions: "CreateVM web-1", blockers: "NameConflict", vms: "1:Cloning"}, nil},
		{"a name that vCenter refused is passed over",
			input(1, failed(vsphere.Failure{Kind: vsphere.OpClone, Err: said{vsphere.KindNameTaken, "web-0 is taken."},
				RetryAt: epoch.Add(time.Minute)})),
			want{actions: "CreateVM web-1", blockers: "NameConflict", vms: "1:Cloning", wakeIn: time.Minute}, []string{"web-0 is taken."}},
		{"and tried again in time",
			input(1, failed(vsphere.Failure{Kind: vsphere.OpClone, Err: said{vsphere.KindNameTaken, "web-0 is taken."},
				RetryAt: epoch})),
			want{actions: "CreateVM web-0", blockers: "NameConflict", vms: "0:Failed"}, nil},
	})
}

func TestScaleDown(t *testing.T) {
	first := func(names ...string) option {
		return spec(func(s *v1alpha1.VmGroupSpec) { s.ScaleDown = &v1alpha1.ScaleDown{DeleteFirst: names} })
	}
	oldest := spec(func(s *v1alpha1.VmGroupSpec) {
		s.ScaleDown = &v1alpha1.ScaleDown{Order: v1alpha1.ScaleDownOldest}
	})
	for _, test := range []struct {
		name   string
		in     Input
		doomed string
	}{
		{"newest by default", input(1, healthy(0, 1, 2)), "1 2"},
		{"newest by time of clone, not by ordinal",
			input(2, has(makeVM(0, created(0)), makeVM(1, created(-time.Hour)), makeVM(2, created(-time.Minute)))), "0"},
		{"the highest ordinal of a tie", input(1, has(makeVM(0, created(0)), makeVM(1, created(0)))), "1"},
		{"oldest", input(1, healthy(0, 1, 2), oldest), "0 1"},
		{"oldest: the lowest ordinal of a tie", input(1, has(makeVM(0, created(0)), makeVM(1, created(0))), oldest), "0"},
		{"listed before others", input(2, healthy(0, 1, 2), first("web-0")), "0"},
		{"listed before unhealthy", input(2, healthy(0, 1), has(makeVM(2, disconnected)), first("web-0")), "0"},
		{"listing alone deletes nothing", input(3, healthy(0, 1, 2), first("web-0")), ""},
		{"unhealthy before others", input(2, has(makeVM(0, power(vsphere.PoweredOff))), healthy(1, 2)), "0"},
		{"disconnected before others", input(2, has(makeVM(0, disconnected)), healthy(1, 2)), "0"},
		{"who leaves already counts first", input(1, healthy(0, 1, 2), doomed(0)), "0 2"},
		{"a tombstone counts as leaving", input(2, has(makeVM(0, marked)), healthy(1, 2)), "0"},
		{"a clone in flight before a running VM", input(1, healthy(0), running(vsphere.OpClone, 1, 0)), "1"},
		{"a clone in flight before a newer ordinal", input(1, healthy(3), running(vsphere.OpClone, 1, 0)), "1"},
		{"a clone in flight before an older VM that is ready", input(1, healthy(0), running(vsphere.OpClone, 1, 0), oldest), "1"},
		{"while the deletion of a VM is unconfirmed, no other leaves in its stead", input(1, healthy(0), knowsOrdinals(1)), ""},
		{"but what is too much without it leaves", input(1, healthy(0, 2), knowsOrdinals(1)), "2"},
		{"a suspect VM alone is left", input(0, knowsOrdinals(1)), ""},
		{"a VM elsewhere is not chosen, but counts", input(1, healthy(0), awayVMs(1)), "0"},
		{"a deleted VM is simply forgotten", input(1, healthy(0), goneVMs(1)), ""},
		{"gone and not replaced (Observe) goes before VMs",
			input(1, healthy(0), goneVMs(1, 2), spec(observeOnly)), ""},
		{"a foreign VM does not count", input(1, healthy(0), sees(makeVM(7, unstamped))), ""},
		{"a name that was seen with another VM is not meant", input(2, healthy(0, 1, 2), first("web-0"), listedAs("web-0", "vm-7")), "2"},
		{"a name that was seen with this VM is", input(2, healthy(0, 1, 2), first("web-0"), listedAs("web-0", moRefOf(0))), "0"},
		{"so is this VM once it was registered anew, under another reference", input(2, goneVMs(0), sees(makeVM(0, ref("vm-900"))), healthy(1, 2),
			first("web-0"), listedAs("web-0", moRefOf(0))), "0"},
		{"and not a VM that has come in its place", input(2, goneVMs(0), sees(makeVM(0, ref("vm-900"), incarnation(0, 1))), healthy(1, 2),
			first("web-0"), listedAs("web-0", moRefOf(0))), "2"},
		{"nor one that another VM of this name was listed before", input(2, goneVMs(0), sees(makeVM(0, ref("vm-900"))), healthy(1, 2),
			first("web-0"), listedAs("web-0", "vm-7")), "2"},
		{"a name that no VM had is that of the first", input(1, healthy(0), first("web-1"), running(vsphere.OpClone, 1, 0)), "1"},
		{"a clone of a name that another VM had is not meant", input(2, healthy(0), running(vsphere.OpClone, 1, 0), running(vsphere.OpClone, 2, 0),
			first("web-1"), listedAs("web-1", "vm-7")), "2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := doomedOf(Compute(test.in)); got != test.doomed {
				t.Errorf("doomed are [%s], want [%s]", got, test.doomed)
			}
		})
	}
}

func TestATombstoneIsFinal(t *testing.T) {
	p := check(t, input(3, healthy(0), has(makeVM(1, marked), makeVM(2, marked)), doomed(1, 2)), want{
		actions: "PowerOffVM web-1, PowerOffVM web-2, CreateVM web-3, CreateVM web-4",
		vms:     "0:Ready 1:Deleting 2:Deleting 3:Cloning 4:Cloning", doomed: "1 2", existing: 1, ready: 1, updated: 1,
	})
	if p.VMs[1].Available {
		t.Error("a doomed VM is available")
	}
}

func TestAVMThatWasChosenToLeaveStaysWhenItIsWantedAgain(t *testing.T) {
	for _, test := range []struct {
		name   string
		in     Input
		doomed string
		clones int
	}{
		{"scaled up before anything was done", input(3, healthy(0, 1, 2), doomed(1, 2)), "", 0},
		{"one of two, the one that would leave last", input(2, healthy(0, 1, 2), doomed(1, 2)), "2", 0},
		{"a clone that was counted on never came", input(2, knows(intent(0, 0)), healthy(1, 2), doomed(2)), "", 0},
		{"its start is in flight", input(1, healthy(0), doomed(0), running(vsphere.OpPowerOn, 0, 0)), "", 0},
		{"its clone is in flight", input(2, healthy(0), knows(intent(1, 0)), running(vsphere.OpClone, 1, 0), doomed(1)), "", 0},
		{"its tombstone is being written", input(1, healthy(0), doomed(0), running(vsphere.OpMark, 0, 0)), "0", 1},
		{"its stamp is being removed", input(1, healthy(0), doomed(0), running(vsphere.OpRelease, 0, 0), spec(retain)), "0", 1},
		{"it is not seen", input(1, knowsOrdinals(0), doomed(0)), "0", 0},
		{"its tombstone is being written without a recorded reason", input(1, healthy(0, 1), running(vsphere.OpMark, 0, 0)), "0", 0},
		{"it is not wanted", input(1, healthy(0, 1), doomed(1)), "1", 0},
		{"the group is deleted", input(2, healthy(0, 1), doomed(1), deleting), "0 1", 0},
		{"the group is paused", input(2, healthy(0, 1), doomed(1), paused), "1", 0},
		{"the inventory is incomplete", input(2, healthy(0, 1), doomed(1), incomplete), "1", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := Compute(test.in)
			if doomedOf(p) != test.doomed || p.Creates() != test.clones {
				t.Errorf("doomed are [%s] and there are %d clones, want [%s] and %d", doomedOf(p), p.Creates(), test.doomed, test.clones)
			}
		})
	}
}

func TestIntentKeepsItsIdentity(t *testing.T) {
	k := intent(0, 2)
	k.UUID, k.Revision = "11111111-2222-3333-4444-555555555555", "1-old"
	p := Compute(input(1, knows(k)))
	if a := p.Actions[0]; a.UUID != k.UUID || a.Incarnation != 2 {
		t.Errorf("an intent was carried out as incarnation %d with UUID %s", a.Incarnation, a.UUID)
	}
	if s := vmStatus(t, p, 0); s.UUID != k.UUID || s.Incarnation != 2 || s.Revision != revision || s.MoRef != "" {
		t.Errorf("the status of an intent is %+v", s)
	}
}

func TestCloneInFlightWithoutRecordClaimsNoUUID(t *testing.T) {
	p := Compute(input(1, running(vsphere.OpClone, 0, 0)))
	if s := vmStatus(t, p, 0); s.UUID != "" {
		t.Errorf("the status claims UUID %s, but the incarnation is unknown: the VM would be taken for a copy", s.UUID)
	}
	// The value persisted then must identify the VM in any incarnation.
	in := input(1, knows(Known{Ordinal: 0}), sees(makeVM(0, incarnation(0, 4))))
	check(t, in, want{vms: "0:Ready", existing: 1, ready: 1, updated: 1, settled: true})
}

func TestOutdated(t *testing.T) {
	p := check(t, input(4, healthy(0), has(makeVM(1, outdated), makeVM(2, outdated, marked)), goneVMs(3), doomed(2)), want{
		actions: "PowerOffVM web-2, CreateVM web-3, CreateVM web-4", doomed: "2",
		vms: "0:Ready 1:Ready 2:Deleting 3:Cloning 4:Cloning", existing: 2, ready: 2, updated: 1, repairing: true,
	})
	if len(p.Outdated) != 1 || p.Outdated[0] != "web-1" {
		t.Errorf("outdated are %v, want web-1", p.Outdated)
	}
}
