package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// replacing is a group whose VMs, except the last one, must be replaced.
func replacing(vms ...vsphere.VM) Input {
	for i := range vms[:len(vms)-1] {
		vms[i].Stamp.Revision = replaced.Revision
	}
	in := input(int32(len(vms)), has(vms...))
	in.Shapes = []Shape{{Recorded: replaced}}
	in.Rollout = &Rollout{Revision: revision, From: []string{replaced.Revision}, Start: epoch}
	in.Spec.UpdateStrategy = &v1alpha1.UpdateStrategy{MaxSurge: number(0), MaxUnavailable: number(1)}
	return in
}

// TestAPlanSaysWhetherAVMLeavesBeforeAnotherComes: the caller must first read what a clone needs.
func TestAPlanSaysWhetherAVMLeavesBeforeAnotherComes(t *testing.T) {
	in := replacing(makeVM(0), makeVM(1), makeVM(2))
	if p := Compute(in); !p.Replaces || len(p.Doomed) != 1 {
		t.Errorf("one less may be there: %t, doomed %v", p.Replaces, p.Doomed)
	}
	in.CreateBlocked = &Blocker{Reason: v1alpha1.ReasonUserDataDenied, Message: "No."}
	if p := Compute(in); p.Replaces || len(p.Doomed) != 0 {
		t.Errorf("none can come: %t, doomed %v", p.Replaces, p.Doomed)
	}
	in = replacing(makeVM(0), makeVM(1), makeVM(2))
	in.Spec.Replicas, in.Desired, in.Spec.UpdateStrategy.MaxSurge, in.Spec.UpdateStrategy.MaxUnavailable = ptr(int32(2)), 2, number(1), number(0)
	in.Rollout.Surge, in.Rollout.SurgeKnown = []string{in.Observation.VMs[2].InstanceUUID}, true
	if p := Compute(in); p.Replaces || len(p.Doomed) != 1 {
		t.Errorf("another is there: %t, doomed %v", p.Replaces, p.Doomed)
	}
	in = replacing(makeVM(0), makeVM(1))
	in.Known[0].Updating, in.Known[0].ReadySince = true, time.Time{}
	in.Spec.Readiness, in.Observation.VMs[1].GuestIP = &v1alpha1.Readiness{Gate: v1alpha1.GateGuestIP}, "10.0.0.1"
	if p := Compute(in); !p.Replaces || len(p.Doomed) != 1 {
		t.Errorf("one was restarted and did not come back: %t, doomed %v", p.Replaces, p.Doomed)
	}
	if p := Compute(resizing(func(*vsphere.VM, *Known) {})); p.Replaces || actionsOf(p) == "" {
		t.Errorf("they are restarted: %t, actions [%s]", p.Replaces, actionsOf(p))
	}
}

func TestAnUpdateThatWaitsForAVMSaysWhatToDo(t *testing.T) {
	const others = "raise spec.updateStrategy.maxUnavailable"
	const mend = "mend it, "
	p := Compute(replacing(makeVM(0), makeVM(1), makeVM(2, disconnected)))
	if m := p.Update.Message; !strings.Contains(m, "waiting for web-2, which is not available") || !strings.Contains(m, mend) || !strings.Contains(m, others) {
		t.Errorf("it says %q", m)
	}
	p = Compute(replacing(makeVM(0, disconnected), makeVM(1)))
	if m := p.Update.Message; !strings.Contains(m, "waiting for web-0, which is not available") || !strings.Contains(m, mend) || strings.Contains(m, others) {
		t.Errorf("no other is left, and it says %q", m)
	}
}

func TestAFailedVMIsNotToBeDeletedWhereNothingIsClonedAnew(t *testing.T) {
	const remove, keep = "delete the VM in vCenter to have it cloned anew", "do not delete the VM"
	in := replacing(makeVM(0), makeVM(1))
	in.Spec.Readiness = &v1alpha1.Readiness{Gate: v1alpha1.GateGuestIP}
	in.Observation.VMs[0].GuestIP = "10.0.0.1"
	in.Known[1].ReadySince = time.Time{}
	in.Rollout.Failed, in.Spec.UpdateStrategy.MaxFailures = []string{in.Observation.VMs[1].InstanceUUID}, 2
	if m := Compute(in).Update.Message; !strings.Contains(m, remove) || strings.Contains(m, keep) {
		t.Errorf("it says %q", m)
	}
	in.Spec.Repair = &v1alpha1.Repair{Mode: v1alpha1.RepairObserve}
	if m := Compute(in).Update.Message; strings.Contains(m, remove) || !strings.Contains(m, keep) {
		t.Errorf("with Observe it says %q", m)
	}
}

// TestAVMThatGetsTheUUIDOfOneThatFailedHasNotFailed: web-2 failed and left, and another one replaces it.
func TestAVMThatGetsTheUUIDOfOneThatFailedHasNotFailed(t *testing.T) {
	in := replacing(makeVM(0), makeVM(1))
	uuid := InstanceUUID(groupID.Key(), 2, 0)
	in.Spec.Replicas, in.Rollout.Failed = ptr(int32(3)), []string{uuid}
	in.Spec.UpdateStrategy.MaxFailures = 2
	if p := Compute(in); actionsOf(p) != "CreateVM web-2" || p.Actions[0].UUID != uuid || len(p.Rollout.Failed) != 0 {
		t.Errorf("actions are [%s], failed are %v", actionsOf(p), p.Rollout.Failed)
	}
	in.Spec.UpdateStrategy.MaxFailures = 1
	p := Compute(in)
	if actionsOf(p) != "CreateVM web-2" || p.Actions[0].Revision != replaced.Revision || !slices.Contains(p.Rollout.Failed, uuid) {
		t.Errorf("the update has stopped; actions are [%s], failed are %v", actionsOf(p), p.Rollout.Failed)
	}
	has(makeVM(2, func(vm *vsphere.VM) { vm.Stamp.Revision = replaced.Revision }))(&in)
	if m := Compute(in).Update.Message; !strings.Contains(m, "and left the group since") {
		t.Errorf("the older VM that came did not fail, and it says %q", m)
	}
}

// TestAnUpdateThatMayDoNothingStalls: otherwise a user would not notice that spec must be corrected first.
func TestAnUpdateThatMayDoNothingStalls(t *testing.T) {
	for name, test := range map[string]struct {
		edit   func(*Input)
		stalls bool
	}{
		"neither":                   {func(*Input) {}, true},
		"text that is no number":    {func(in *Input) { in.Spec.UpdateStrategy.MaxSurge = percent("some") }, true},
		"one more":                  {func(in *Input) { in.Spec.UpdateStrategy.MaxSurge = number(1) }, false},
		"one less":                  {func(in *Input) { in.Spec.UpdateStrategy.MaxUnavailable = number(1) }, false},
		"percentages of few":        {func(in *Input) { in.Spec.UpdateStrategy.MaxSurge = percent("0%") }, false},
		"paused":                    {func(in *Input) { in.Spec.UpdateStrategy.Paused = true }, false},
		"people do it":              {func(in *Input) { in.Spec.UpdateStrategy.Type = v1alpha1.UpdateOnDelete }, false},
		"there is one more already": {func(in *Input) { in.Spec.Replicas = ptr(int32(1)) }, false},
	} {
		in := input(2, has(makeVM(0, outdated), makeVM(1)))
		in.Rollout = &Rollout{Revision: revision, From: []string{"1-old"}, Start: epoch}
		in.Spec.UpdateStrategy = &v1alpha1.UpdateStrategy{MaxSurge: number(0), MaxUnavailable: number(0)}
		test.edit(&in)
		p := Compute(in)
		stalls := slices.ContainsFunc(p.Blockers, func(b Blocker) bool { return b.Reason == v1alpha1.ReasonInvalidSpec && b.Terminal })
		if stalls != test.stalls {
			t.Errorf("%s: %s: %s, blockers %v", name, p.Update.Reason, p.Update.Message, p.Blockers)
		}
	}
}

// The guest of a restarted VM takes its minutes, too.
func TestARestartTellsWhatItWaitsFor(t *testing.T) {
	smaller := validSpec(1)
	smaller.CPU = 1
	old := func(in *Input) {
		in.Observation.VMs[0].Stamp.Revision, in.Known[0].Revision = ShapeOf(smaller).Revision, ShapeOf(smaller).Revision
	}
	for story, c := range map[string]struct {
		edit func(*Input)
		want string
	}{
		"its guest goes down": {func(in *Input) {
			old(in)
			in.Observation.VMs[0].ToolsRunning, in.Known[0].ShutdownTime = true, epoch.Add(-time.Minute)
		}, "restarting web-0; its guest was asked to shut down, and has until 12:02:00 UTC."},
		"its guest had its time": {func(in *Input) {
			old(in)
			in.Observation.VMs[0].ToolsRunning, in.Known[0].ShutdownTime = true, epoch.Add(-time.Hour/15)
		}, "restarting web-0."},
		"it is off":      {func(in *Input) { old(in); in.Observation.VMs[0].Power = vsphere.PoweredOff }, "restarting web-0."},
		"it was changed": {func(in *Input) { in.Observation.VMs[0].Power = vsphere.PoweredOff }, "restarting web-0."},
		"its guest boots": {func(in *Input) { in.Known[0].StartTime = epoch.Add(-40 * time.Second) },
			"waiting for the guest of web-0 since 11:59:20 UTC, until 12:09:20 at most."},
		"spec went back while its guest goes down, and it never was ready": {func(in *Input) {
			in.Observation.VMs[0].ToolsRunning = true
			in.Known[0].StartTime, in.Known[0].ShutdownTime = epoch.Add(-40*time.Second), epoch.Add(-time.Minute)
		}, "restarting web-0; its guest was asked to shut down, and has until 12:02:00 UTC."},
		"it has to stay ready": {func(in *Input) { in.Observation.VMs[0].GuestIP = "10.0.0.1" }, "web-0 is ready, and has to stay so for spec.readiness.minReadySeconds."},
	} {
		in := input(1, has(makeVM(0)))
		in.Shapes = []Shape{{Recorded: ShapeOf(smaller)}}
		in.Rollout = &Rollout{Revision: revision, From: []string{ShapeOf(smaller).Revision}, Start: epoch.Add(-10 * time.Minute), SurgeKnown: true}
		in.Spec.UpdateStrategy = &v1alpha1.UpdateStrategy{MaxSurge: number(0), MaxUnavailable: number(1)}
		in.Spec.Readiness = &v1alpha1.Readiness{Gate: v1alpha1.GateGuestIP, MinReadySeconds: 30}
		in.Known[0].Updating, in.Known[0].ReadySince = true, time.Time{}
		c.edit(&in)
		if u := Compute(in).Update; !strings.HasSuffix(u.Message, "updated; "+c.want) {
			t.Errorf("%s: it says %q, want %q", story, u.Message, c.want)
		}
	}
}

// The VM is not visible now. That does not mean that it left.
func TestAStoppedUpdateNamesWhoFailedAlsoWhileNothingIsSeen(t *testing.T) {
	in := replacing(makeVM(0), makeVM(1))
	in.Rollout.Failed, in.Known[1].ReadySince = []string{in.Observation.VMs[1].InstanceUUID}, time.Time{}
	in.Observation.Complete, in.Observation.VMs = false, nil
	u := Compute(in).Update
	if u.Reason != v1alpha1.ReasonRolloutStopped || !strings.Contains(u.Message, "because web-1 (vm-101) did not become ready") {
		t.Errorf("it says %s: %q", u.Reason, u.Message)
	}
}

func TestAGroupWhoseVMsNoEditConcernsSaysHowToUpdateThem(t *testing.T) {
	onDelete := func(s *v1alpha1.VmGroupSpec) {
		s.UpdateStrategy = &v1alpha1.UpdateStrategy{Type: v1alpha1.UpdateOnDelete}
	}
	resized := validSpec(1)
	resized.CPU++
	for name, test := range map[string]struct {
		had  v1alpha1.Revision
		edit func(*v1alpha1.VmGroupSpec)
		want string
	}{
		"their shape is unknown":    {v1alpha1.Revision{Revision: "1-old"}, func(*v1alpha1.VmGroupSpec) {}, "set spec.updateStrategy.replaceTrigger to a new value"},
		"no VM is destroyed":        {v1alpha1.Revision{Revision: "1-old"}, retain, "set spec.deletionPolicy to Delete, and spec.updateStrategy.replaceTrigger"},
		"they have another size":    {ShapeOf(resized), retain, "An edit of their size or network starts an update"},
		"a person replaces the VMs": {ShapeOf(resized), onDelete, "OnDelete"},
	} {
		in := input(1, has(makeVM(0)), spec(test.edit))
		in.Observation.VMs[0].Stamp.Revision = test.had.Revision
		if test.had.CPU != 0 {
			in.Shapes = []Shape{{Recorded: test.had}}
		}
		if u := Compute(in).Update; u.Reason != v1alpha1.ReasonNotStarted || !strings.Contains(u.Message, test.want) {
			t.Errorf("%s: %s: %q does not have %q", name, u.Reason, u.Message, test.want)
		}
	}
}
