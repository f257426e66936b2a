package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// askedAgo records that the guest of a VM was asked to shut down.
func askedAgo(ordinal int32, ago time.Duration) option {
	return func(in *Input) {
		for i := range in.Known {
			if in.Known[i].Ordinal == ordinal {
				in.Known[i].ShutdownTime = in.Now.Add(-ago)
			}
		}
	}
}

func shutdown(mode v1alpha1.ShutdownMode, seconds int32) option {
	return spec(func(s *v1alpha1.VmGroupSpec) { s.Shutdown = &v1alpha1.Shutdown{Mode: mode, TimeoutSeconds: seconds} })
}

func TestGuestOfAVMThatLeaves(t *testing.T) {
	waits := func(actions string, wakeIn time.Duration) want {
		return want{actions: actions, vms: "0:Deleting", doomed: "0", wakeIn: wakeIn}
	}
	leaving := has(makeVM(0, marked, tools))
	silent := has(makeVM(0, marked))
	inFlight := func(age time.Duration) option { return running(vsphere.OpShutdownGuest, 0, age) }
	refused := func(retryIn time.Duration) option {
		return failed(vsphere.Failure{Kind: vsphere.OpShutdownGuest, Ordinal: 0, Err: said{vsphere.KindTransient, "Refused."}, RetryAt: epoch.Add(retryIn)})
	}
	const m = time.Minute
	runRules(t, []rule{
		{"first the tombstone", input(0, has(makeVM(0, tools))), waits("MarkVM web-0", 0), nil},
		{"then the guest is asked", input(0, leaving), waits("ShutdownGuest web-0", 3*m),
			[]string{"its guest was asked to shut down at 12:00:00 and has until 12:03:00 UTC"}},
		{"and waited for", input(0, leaving, askedAgo(0, m), inFlight(m)), waits("", 2*m), nil},
		{"and no longer", input(0, leaving, askedAgo(0, 3*m), inFlight(3*m)), waits("PowerOffVM web-0", 0),
			[]string{"did not shut down within 3m0s"}},
		{"VMware Tools do not run", input(0, silent), waits("PowerOffVM web-0", 0), []string{"VMware Tools do not run"}},
		{"they stop long before the VM is off", input(0, silent, askedAgo(0, m), inFlight(m)), waits("", 2*m), nil},
		{"also where another replica asked", input(0, silent, askedAgo(0, m)), waits("", 2*m), nil},
		{"a takeover asks again, and gives no more time", input(0, leaving, askedAgo(0, m)), waits("ShutdownGuest web-0", 2*m), nil},
		{"nor does having asked again", input(0, leaving, askedAgo(0, 3*m), inFlight(m)), waits("PowerOffVM web-0", 0), nil},
		{"a guest after its timeout is not asked", input(0, leaving, askedAgo(0, 3*m)), waits("PowerOffVM web-0", 0), nil},
		{"a record of long ago is of another time", input(0, leaving, askedAgo(0, 14*m)), waits("ShutdownGuest web-0", 3*m), nil},
		{"so is one that is yet to come", input(0, leaving, askedAgo(0, -m)), waits("ShutdownGuest web-0", 3*m), nil},
		{"and one that status lost", input(0, leaving, inFlight(m)), waits("", 2*m), nil},
		{"Hard asks no guest", input(0, leaving, shutdown(v1alpha1.ShutdownHard, 180)), waits("PowerOffVM web-0", 0), []string{"mode is Hard"}},
		{"and ends a wait", input(0, leaving, askedAgo(0, m), inFlight(m), shutdown(v1alpha1.ShutdownHard, 180)), waits("PowerOffVM web-0", 0), nil},
		{"a shorter time ends one as well", input(0, leaving, askedAgo(0, m), inFlight(m), shutdown(v1alpha1.ShutdownGraceful, 60)),
			waits("PowerOffVM web-0", 0), nil},
		{"a longer one makes it longer", input(0, leaving, askedAgo(0, 3*m), inFlight(3*m), shutdown(v1alpha1.ShutdownGraceful, 240)), waits("", m), nil},
		{"zero is no time that anybody means", input(0, leaving, shutdown("", 0)), waits("ShutdownGuest web-0", 3*m), nil},
		{"a refusal is not repeated too early", input(0, leaving, askedAgo(0, m), refused(time.Second)),
			want{blockers: "OperationFailed", vms: "0:Deleting", doomed: "0", wakeIn: time.Second}, []string{"Refused."}},
		{"and repeated then", input(0, leaving, askedAgo(0, m), refused(0)),
			want{actions: "ShutdownGuest web-0", blockers: "OperationFailed", vms: "0:Deleting", doomed: "0", wakeIn: 2 * m}, nil},
		{"but not for ever", input(0, leaving, askedAgo(0, 3*m), refused(time.Second)), waits("PowerOffVM web-0", 0), nil},
		{"who refuses and has no VMware Tools is not waited for", input(0, silent, askedAgo(0, m), refused(time.Second)),
			waits("PowerOffVM web-0", 0), nil},
		{"off is off", input(0, has(makeVM(0, marked, tools, power(vsphere.PoweredOff))), askedAgo(0, m)), waits("DestroyVM web-0", 0), nil},
		{"Retain stops nothing", input(0, leaving, spec(retain)), waits("ReleaseVM web-0", 0), nil},
		{"a guest that shuts down already has its time before its VM is marked",
			input(0, has(makeVM(0, tools)), deleting, askedAgo(0, m), inFlight(m)), waits("", 2*m), nil},
		{"and then is marked", input(0, has(makeVM(0, tools)), deleting, askedAgo(0, 3*m), inFlight(3*m)), waits("MarkVM web-0", 0), nil},
		{"a record of another VM counts for nothing", input(0, leaving, func(in *Input) {
			knows(Known{Ordinal: 1, MoRef: "vm-200", ShutdownTime: epoch.Add(-5 * m)})(in)
			goneRefs("vm-200")(in)
		}), waits("ShutdownGuest web-0", 3*m), nil},
	})
}

func TestTimeOfAShutdownIsKeptAsLongAsItMatters(t *testing.T) {
	asked := epoch.Add(-time.Minute)
	guest := makeVM(0, tools)
	for _, test := range []struct {
		name string
		in   Input
		want time.Time
	}{
		{"while it is waited for", input(1, has(guest), spec(wantOff), askedAgo(0, time.Minute)), asked},
		{"while the group is paused", input(0, has(makeVM(0, marked, tools)), paused, askedAgo(0, time.Minute)), asked},
		{"while the host is disconnected", input(0, has(makeVM(0, marked, tools, disconnected)), askedAgo(0, time.Minute)), asked},
		{"not before the guest is asked", input(1, has(guest), spec(wantOff), running(vsphere.OpPowerOn, 0, 0)), time.Time{}},
		{"not once the VM is off", input(1, has(makeVM(0, power(vsphere.PoweredOff))), spec(wantOff), askedAgo(0, time.Minute)), time.Time{}},
		{"while the guest may follow, although the VM must run again", input(1, has(guest), askedAgo(0, time.Minute)), asked},
		{"not after its timeout if the VM must run again", input(1, has(guest), askedAgo(0, 3*time.Minute)), time.Time{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := vmStatus(t, Compute(test.in), 0).ShutdownTime; !got.Equal(test.want) {
				t.Errorf("the record of the shutdown is of %s, want %s", got, test.want)
			}
		})
	}
}

// TestAGuestNeverHasLessThanItsTime: status has whole seconds.
func TestAGuestNeverHasLessThanItsTime(t *testing.T) {
	const fraction = 900 * time.Millisecond
	in := input(0, has(makeVM(0, marked, tools)))
	in.Now = epoch.Add(fraction)
	in.Known[0].ShutdownTime = Compute(in).VMs[0].ShutdownTime.Truncate(time.Second)
	for after, actions := range map[time.Duration]string{0: "", time.Millisecond: "", 3 * time.Minute: "", 3*time.Minute + 100*time.Millisecond: "PowerOffVM web-0"} {
		next := in
		running(vsphere.OpShutdownGuest, 0, 0)(&next)
		next.Now = in.Now.Add(after)
		if p := Compute(next); actionsOf(p) != actions {
			t.Errorf("%s after it was asked: %s, want %s", after, actionsOf(p), actions)
		} else if after == 0 && !p.VMs[0].ShutdownTime.Equal(in.Known[0].ShutdownTime) {
			t.Errorf("status had %s and gets %s", in.Known[0].ShutdownTime, p.VMs[0].ShutdownTime)
		}
	}
}

// TestAVMThatIsWantedOnAgainCountsOnceItsGuestNoLongerShutsDown: a request cannot be withdrawn. An update that relied
// on such a VM would leave too few.
func TestAVMThatIsWantedOnAgainCountsOnceItsGuestNoLongerShutsDown(t *testing.T) {
	guest := makeVM(0, tools)
	for _, test := range []struct {
		name      string
		in        Input
		available bool
	}{
		{"it was asked a minute ago", input(1, has(guest), askedAgo(0, time.Minute)), false},
		{"only this process knows that", input(1, has(guest), running(vsphere.OpShutdownGuest, 0, time.Minute)), false},
		{"it has had its time", input(1, has(guest), askedAgo(0, 3*time.Minute), running(vsphere.OpShutdownGuest, 0, 3*time.Minute)), true},
		{"it was not asked", input(1, has(guest)), true},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := Compute(test.in)
			got := vmStatus(t, p, 0)
			if got.Available != test.available || actionsOf(p) != "" {
				t.Errorf("it is %+v, actions are [%s]", got, actionsOf(p))
			}
			if end := test.in.Now.Add(2 * time.Minute); !test.available && (!p.WakeAt.Equal(end) || !strings.Contains(got.Message, "may follow until 12:02:00 UTC")) {
				t.Errorf("wakes at %s, want %s; message %q", p.WakeAt, end, got.Message)
			}
		})
	}
}

// TestAVMWhoseGuestFollowsAnOldRequestIsPoweredOnThoughRepairOnlyObserves: the operator asked the guest when
// spec.powerState was PoweredOff. The VM was not changed from outside, so spec.repair does not hold it back. The VM
// stayed off, and the condition reported a power-off from outside.
func TestAVMWhoseGuestFollowsAnOldRequestIsPoweredOnThoughRepairOnlyObserves(t *testing.T) {
	off := makeVM(0, tools, power(vsphere.PoweredOff))
	observed := spec(observeOnly)
	for _, test := range []struct {
		name, actions string
		held          bool
		in            Input
	}{
		{"status has the request", "PowerOnVM web-0", false, input(1, has(off), askedAgo(0, time.Minute), observed)},
		{"the request is in flight", "", false, input(1, has(off), running(vsphere.OpShutdownGuest, 0, time.Minute), observed)},
		{"the guest was not asked", "", true, input(1, has(off), observed)},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := Compute(test.in)
			if got := actionsOf(p); got != test.actions {
				t.Errorf("actions are [%s], want [%s]", got, test.actions)
			}
			if got := vmStatus(t, p, 0); test.held != (got.Phase == v1alpha1.VMUnhealthy) || test.held == got.ReadySince.IsZero() {
				t.Errorf("status is %+v", got)
			}
		})
	}
}

// TestAnUpdateDoesNotTakeTheOnlyRunningVMBecauseItsGuestMayStillShutDown: the group was powered off, and its guests were
// asked to shut down. Then spec wanted it on again and resized. web-1 is off already, and web-0 still runs.
func TestAnUpdateDoesNotTakeTheOnlyRunningVMBecauseItsGuestMayStillShutDown(t *testing.T) {
	in := input(1, has(makeVM(0, ofResized, answers), makeVM(1, ofResized, power(vsphere.PoweredOff))), func(in *Input) {
		in.Rollout = &Rollout{Revision: revision, From: []string{resized.Revision}, Start: epoch.Add(-time.Hour)}
		in.Shapes, in.Surge = []Shape{{Recorded: resized}}, muchRoom
		in.Known[0].ShutdownTime = epoch.Add(-20 * time.Second)
		in.Known[1].Phase, in.Known[1].ReadySince = v1alpha1.VMStarting, time.Time{}
	})
	p := Compute(in)
	checkRules(t, in, p)
	if got := actionsOf(p); got != "ReconfigureVM web-1" {
		t.Errorf("actions are %q", got)
	}
}
