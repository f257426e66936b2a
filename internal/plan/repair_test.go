package plan

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func TestRepairOfLostVMs(t *testing.T) {
	runRules(t, []rule{
		{"replaced at its ordinal", input(2, healthy(1), goneVMs(0)),
			want{actions: "CreateVM web-0", vms: "0:Cloning 1:Ready", existing: 1, ready: 1, updated: 1, repairing: true},
			[]string{"vm-100 does not exist any more"}},
		{"at the lowest free ordinal", input(2, healthy(1), goneVMs(4)),
			want{actions: "CreateVM web-0", vms: "0:Cloning 1:Ready", existing: 1, ready: 1, updated: 1}, nil},
		{"still a repair while it clones", input(1, knows(intent(0, 1)), running(vsphere.OpClone, 0, 0)),
			want{vms: "0:Cloning", repairing: true}, nil},
		{"and when the intent was not carried out", input(1, knows(intent(0, 1))),
			want{actions: "CreateVM web-0", vms: "0:Cloning", repairing: true}, nil},
		{"waits for an operation on a deleted VM", input(1, goneVMs(0), running(vsphere.OpPowerOn, 0, 0)),
			want{vms: "0:Lost"}, nil},
		{"not replaced when the group shrank as well", input(1, healthy(0), goneVMs(1)),
			want{vms: "0:Ready", existing: 1, ready: 1, updated: 1, settled: true}, nil},
		{"not while clones are blocked, and its incarnation is remembered", input(1, goneVMs(0), createBlocked),
			want{blockers: "TemplateNotFound!", vms: "0:Lost", repairing: true}, nil},
		{"a suspect VM is no repair", input(1, knowsOrdinals(0), spec(maxUnhealthy(0))),
			want{vms: "0:Lost", existing: 1, updated: 1}, nil},
		{"Observe leaves it lost", input(2, healthy(0), goneVMs(1), spec(observeOnly)),
			want{blockers: "RepairHeld", vms: "0:Ready 1:Lost", existing: 1, ready: 1, updated: 1},
			[]string{"web-1 (vm-101)", "Set the mode to Enforce"}},
		{"Observe still creates what was never there", input(3, healthy(0), goneVMs(1), spec(observeOnly)),
			want{actions: "CreateVM web-2", blockers: "RepairHeld", vms: "0:Ready 1:Lost 2:Cloning",
				existing: 1, ready: 1, updated: 1}, nil},
	})
}

func TestReplacementGetsTheNextIncarnation(t *testing.T) {
	k := makeKnown(0)
	k.Incarnation = 4
	p := Compute(input(1, knows(k), goneRefs(k.MoRef)))
	a := p.Actions[0]
	if a.Incarnation != 5 || a.UUID != InstanceUUID(groupID.Key(), 0, 5) {
		t.Errorf("the replacement of incarnation 4 is incarnation %d with UUID %s", a.Incarnation, a.UUID)
	}
	if s := vmStatus(t, p, 0); s.MoRef != "" || s.Incarnation != 5 || !s.ReadySince.IsZero() {
		t.Errorf("the status of a replacement is %+v", s)
	}
}

func TestMaxUnhealthy(t *testing.T) {
	off := func(o int32) vsphere.VM { return makeVM(o, power(vsphere.PoweredOff)) }
	fresh := makeKnown(3)
	fresh.ReadySince, fresh.Phase = time.Time{}, v1alpha1.VMStarting
	runRules(t, []rule{
		{"up to it all are repaired", input(4, healthy(0, 1), has(off(2)), goneVMs(3), spec(maxUnhealthy(2))),
			want{actions: "PowerOnVM web-2, CreateVM web-3", vms: "0:Ready 1:Ready 2:Unhealthy 3:Cloning",
				existing: 3, ready: 2, updated: 3, repairing: true}, nil},
		{"above it none", input(4, healthy(0, 1), has(off(2)), goneVMs(3), spec(maxUnhealthy(1))),
			want{blockers: "RepairHeld!", vms: "0:Ready 1:Ready 2:Unhealthy 3:Lost", existing: 3, ready: 2, updated: 3},
			[]string{"2 of 4 VMs", "maxUnhealthy allows (1)"}},
		{"a replacement under way still counts",
			input(3, healthy(0), knows(intent(1, 1)), running(vsphere.OpClone, 1, 0), goneVMs(2), spec(maxUnhealthy(1))),
			want{blockers: "RepairHeld!", vms: "0:Ready 1:Cloning 2:Lost", existing: 1, ready: 1, updated: 1,
				repairing: true}, nil},
		{"a replacement that was only decided on waits as well",
			input(3, healthy(0), knows(intent(1, 1)), goneVMs(2), spec(maxUnhealthy(1))),
			want{blockers: "RepairHeld!", vms: "0:Ready 1:Lost 2:Lost", existing: 1, ready: 1, updated: 1}, nil},
		{"first clones and first starts are no repairs",
			input(5, healthy(0), knows(fresh), sees(off(3)), knows(intent(1, 0)), spec(maxUnhealthy(0))),
			want{actions: "PowerOnVM web-3, CreateVM web-1, CreateVM web-2, CreateVM web-4",
				vms: "0:Ready 1:Cloning 2:Cloning 3:Starting 4:Cloning", existing: 2, ready: 1, updated: 2}, nil},
		{"VMs that leave do not count",
			input(1, healthy(0), has(off(1), off(2)), goneVMs(3), doomed(1, 2), spec(maxUnhealthy(0))),
			want{actions: "MarkVM web-1, MarkVM web-2", vms: "0:Ready 1:Deleting 2:Deleting", doomed: "1 2",
				existing: 1, ready: 1, updated: 1}, nil},
	})
}

// A reader of groups cannot rely on the schema: the installed one can be older or newer.
func TestMaxUnhealthyAsText(t *testing.T) {
	two := func(limit string) Input {
		return input(4, healthy(0, 1), has(makeVM(2, power(vsphere.PoweredOff))), goneVMs(3), spec(maxUnhealthyIs(intstr.FromString(limit))))
	}
	repaired := want{actions: "PowerOnVM web-2, CreateVM web-3", vms: "0:Ready 1:Ready 2:Unhealthy 3:Cloning",
		existing: 3, ready: 2, updated: 3, repairing: true}
	held := want{blockers: "RepairHeld!", vms: "0:Ready 1:Ready 2:Unhealthy 3:Lost", existing: 3, ready: 2, updated: 3}
	runRules(t, []rule{
		{"a percentage is of the VMs wanted", two("50%"), repaired, nil},
		{"and is rounded down", two("74%"), repaired, nil},
		{"below it none is repaired", two("49%"), held, []string{"2 of 4 VMs", "maxUnhealthy allows (49%, which is 1 of 4)"}},
		{"one that is no VM says so", two("10%"), held, []string{"maxUnhealthy allows (10%, which is 0 of 4)"}},
		{"what is no percentage allows no repair", two("few"), held, []string{"maxUnhealthy allows (few)"}},
		{"and is no matter while nothing needs repair", input(2, healthy(0, 1), spec(maxUnhealthyIs(intstr.FromString("-1%")))),
			want{vms: "0:Ready 1:Ready", existing: 2, ready: 2, updated: 2, settled: true}, nil},
		{"a percentage beyond all numbers allows every repair", two("999999999999%"), repaired, nil},
	})
}

func TestPowerOn(t *testing.T) {
	fresh := makeKnown(0)
	fresh.ReadySince, fresh.Phase = time.Time{}, v1alpha1.VMStarting
	stopped := fresh
	stopped.Phase = v1alpha1.VMStopped
	unhealthy := want{vms: "0:Unhealthy", existing: 1, updated: 1}
	starting := want{actions: "PowerOnVM web-0", vms: "0:Starting", existing: 1, updated: 1}
	repaired := want{actions: "PowerOnVM web-0", vms: "0:Unhealthy", existing: 1, updated: 1, repairing: true}
	held := unhealthy
	held.blockers = "RepairHeld"
	lost := unhealthy
	lost.blockers = "VMsLost!"
	wait := starting
	wait.actions = ""
	off, suspended := makeVM(0, power(vsphere.PoweredOff)), makeVM(0, power(vsphere.Suspended))
	runRules(t, []rule{
		{"first start", input(1, sees(off)), starting, []string{"it was cloned"}},
		{"first start, recorded", input(1, knows(fresh), sees(off)), starting, []string{"it was cloned"}},
		{"first start under Observe", input(1, knows(fresh), sees(off), spec(observeOnly)), starting, nil},
		{"start after powerState was Off", input(1, knows(stopped), sees(off), spec(observeOnly)), starting,
			[]string{"spec.powerState is PoweredOn"}},
		{"off after it was ready", input(1, has(off)), repaired, []string{"powered off from outside"}},
		{"suspended", input(1, knows(fresh), sees(suspended)), repaired, []string{"suspended from outside"}},
		{"off under Observe", input(1, has(off), spec(observeOnly)), held, []string{"web-0 (vm-100)", "Power on these VMs"}},
		{"suspended under Observe", input(1, knows(fresh), sees(suspended), spec(observeOnly)), held, nil},
		{"unknown power is left alone", input(1, has(makeVM(0, power(vsphere.PowerUnknown)))), unhealthy, nil},
		{"disconnected is left alone", input(1, has(makeVM(0, power(vsphere.PoweredOff), disconnected))), lost,
			[]string{"web-0 (vm-100)"}},
		{"one operation at a time", input(1, knows(fresh), sees(off), running(vsphere.OpPowerOn, 0, time.Hour)), wait, nil},
	})
}

func TestObserveRemembersThatTheVMWasReady(t *testing.T) {
	in := input(1, has(makeVM(0, power(vsphere.PoweredOff))), spec(observeOnly))
	for range 3 {
		p := Compute(in)
		if len(p.Actions) > 0 {
			t.Fatalf("a VM that repair holds back was acted on: %s", actionsOf(p))
		}
		in.Known = persist(p)
	}
}

func TestPowerOff(t *testing.T) {
	stopping := want{vms: "0:Unhealthy", existing: 1, updated: 1}
	with := func(actions string, wake time.Duration) want {
		w := stopping
		w.actions, w.wakeIn = actions, wake
		return w
	}
	guest := makeVM(0, tools)
	runRules(t, []rule{
		{"off is ready", input(1, sees(makeVM(0, power(vsphere.PoweredOff))), spec(wantOff)),
			want{vms: "0:Stopped", existing: 1, ready: 1, updated: 1, settled: true}, nil},
		{"the guest is asked", input(1, has(guest), spec(wantOff)), with("ShutdownGuest web-0", 3*time.Minute),
			[]string{"asked to shut down at 12:00:00"}},
		{"without VMware Tools, the guest is not asked", input(1, has(makeVM(0)), spec(wantOff)), with("PowerOffVM web-0", 0), []string{"powered on although spec.powerState is PoweredOff"}},
		{"a suspended VM cannot be asked", input(1, has(makeVM(0, tools, power(vsphere.Suspended))), spec(wantOff)),
			with("PowerOffVM web-0", 0), nil},
		{"unknown power is left alone", input(1, has(makeVM(0, power(vsphere.PowerUnknown))), spec(wantOff)), with("", 0), nil},
		{"the guest has its time", input(1, has(guest), spec(wantOff), running(vsphere.OpShutdownGuest, 0, time.Minute)),
			with("", 2*time.Minute), nil},
		{"and no more", input(1, has(guest), spec(wantOff), running(vsphere.OpShutdownGuest, 0, 3*time.Minute)),
			with("PowerOffVM web-0", 0), []string{"did not shut down within 3m0s"}},
		{"but not twice", input(1, has(guest), spec(wantOff), running(vsphere.OpShutdownGuest, 0, time.Hour),
			running(vsphere.OpPowerOff, 0, 0)), with("", 0), nil},
		{"Observe does not forbid what spec asks for", input(1, has(guest), spec(observeOnly), spec(wantOff)),
			with("ShutdownGuest web-0", 3*time.Minute), nil},
	})
}

func TestReadiness(t *testing.T) {
	at := func(ago time.Duration, phase v1alpha1.VMPhase) Known {
		k := makeKnown(0)
		k.ReadySince, k.Phase = epoch.Add(-ago), phase
		return k
	}
	never := Known{Ordinal: 0, MoRef: moRefOf(0), Revision: revision}
	green := func(vm *vsphere.VM) { vm.HeartbeatGreen = true }
	ip := func(vm *vsphere.VM) { vm.GuestIP = "192.0.2.7" }
	for _, test := range []struct {
		name      string
		in        Input
		phase     v1alpha1.VMPhase
		since     time.Duration // before now; negative for never
		available bool
		wakeIn    time.Duration
	}{
		{"powered on", input(1, knows(never), sees(makeVM(0))), v1alpha1.VMReady, 0, true, 0},
		{"disconnected", input(1, knows(never), sees(makeVM(0, disconnected))), v1alpha1.VMUnhealthy, -1, false, 0},
		{"no heartbeat yet", input(1, knows(never), sees(makeVM(0)), spec(gate(v1alpha1.GateGuestHeartbeat, 0))),
			v1alpha1.VMStarting, -1, false, 0},
		{"heartbeat", input(1, knows(never), sees(makeVM(0, green)), spec(gate(v1alpha1.GateGuestHeartbeat, 0))),
			v1alpha1.VMReady, 0, true, 0},
		{"heartbeat lost", input(1, knows(at(time.Hour, "Ready")), sees(makeVM(0)), spec(gate(v1alpha1.GateGuestHeartbeat, 0))),
			v1alpha1.VMUnhealthy, time.Hour, false, 0},
		{"heartbeat back: the time runs anew", input(1, knows(at(time.Hour, "Unhealthy")), sees(makeVM(0, green)),
			spec(gate(v1alpha1.GateGuestHeartbeat, 60))), v1alpha1.VMReady, 0, false, time.Minute},
		{"no address", input(1, knows(never), sees(makeVM(0, green)), spec(gate(v1alpha1.GateGuestIP, 0))),
			v1alpha1.VMStarting, -1, false, 0},
		{"address", input(1, knows(never), sees(makeVM(0, ip)), spec(gate(v1alpha1.GateGuestIP, 0))),
			v1alpha1.VMReady, 0, true, 0},
		{"not long enough", input(1, knows(at(59*time.Second, "Ready")), sees(makeVM(0)), spec(gate("", 60))),
			v1alpha1.VMReady, 59 * time.Second, false, time.Second},
		{"long enough", input(1, knows(at(time.Minute, "Ready")), sees(makeVM(0)), spec(gate("", 60))),
			v1alpha1.VMReady, time.Minute, true, 0},
		{"an inventory gap is no outage", input(1, knows(at(time.Minute, "Lost")), sees(makeVM(0)), spec(gate("", 60))),
			v1alpha1.VMReady, time.Minute, true, 0},
		{"the clock that said since when ran ahead", input(1, knows(at(-time.Hour, "Ready")), sees(makeVM(0)), spec(gate("", 60))),
			v1alpha1.VMReady, 0, false, time.Minute},
		{"a suspect VM remembers", input(1, knows(at(time.Minute, "Ready"))), v1alpha1.VMLost, time.Minute, false, 0},
		{"one that was not ready before it went out of sight is ready anew", input(1, knows(at(time.Hour, "Unhealthy"))), v1alpha1.VMLost, 0, false, 0},
		{"and only once", input(1, knows(at(time.Minute, "Lost"))), v1alpha1.VMLost, time.Minute, false, 0},
		{"stopped as asked for", input(1, knows(at(time.Minute, "Ready")), sees(makeVM(0, power(vsphere.PoweredOff))),
			spec(wantOff), spec(gate("", 60))), v1alpha1.VMStopped, -1, true, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := Compute(test.in)
			s := vmStatus(t, p, 0)
			if s.Phase != test.phase || s.Available != test.available {
				t.Errorf("phase %s, available %t; want %s, %t", s.Phase, s.Available, test.phase, test.available)
			}
			since := epoch.Add(-test.since)
			if test.since < 0 {
				since = time.Time{}
			}
			if !s.ReadySince.Equal(since) {
				t.Errorf("ready since %s, want %s", s.ReadySince, since)
			}
			var wake time.Duration
			if !p.WakeAt.IsZero() {
				wake = p.WakeAt.Sub(epoch)
			}
			if wake != test.wakeIn {
				t.Errorf("wakes in %s, want %s", wake, test.wakeIn)
			}
			if ready := p.Ready == 1; ready != test.available {
				t.Errorf("Ready is %d for a VM whose availability is %t", p.Ready, test.available)
			}
		})
	}
}
