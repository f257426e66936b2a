package plan

import (
	"slices"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Metrics count actions by their cause.
func TestAnActionNamesWhatItIsFor(t *testing.T) {
	off, on := power(vsphere.PoweredOff), power(vsphere.PoweredOn)
	stopped := makeKnown(0)
	stopped.Phase, stopped.ReadySince = v1alpha1.VMStopped, time.Time{}
	rollout := func(in *Input) {
		in.Shapes = []Shape{{Recorded: replaced}}
		in.Rollout = &Rollout{Revision: revision, From: []string{replaced.Revision}, Start: epoch}
	}
	older := func(vm *vsphere.VM) { s := *vm.Stamp; s.Revision = replaced.Revision; vm.Stamp = &s }
	runsAsTask := func(in *Input) { in.Observation.InFlight[0].Task = "task-1" }
	for story, c := range map[string]struct {
		in   Input
		kind ActionKind
		want Cause
	}{
		"a new group":                      {input(1), CreateVM, ForCreate},
		"more are wanted":                  {input(2, healthy(0)), CreateVM, ForCreate},
		"the first start":                  {input(1, sees(makeVM(0, off))), PowerOnVM, ForCreate},
		"a lost VM":                        {input(1, goneVMs(0)), CreateVM, ForRepair},
		"the first start of its successor": {input(1, sees(makeVM(0, off, incarnation(0, 1)))), PowerOnVM, ForRepair},
		"powered off from outside":         {input(1, has(makeVM(0, off))), PowerOnVM, ForRepair},
		"on again by spec":                 {input(1, knows(stopped), sees(makeVM(0, off))), PowerOnVM, ForPower},
		"off by spec":                      {input(1, has(makeVM(0, on)), spec(wantOff)), PowerOffVM, ForPower},
		"asked to be off by spec":          {input(1, has(makeVM(0, on, tools)), spec(wantOff)), ShutdownGuest, ForPower},
		"fewer are wanted":                 {input(0, healthy(0)), MarkVM, ForScale},
		"stopped since fewer are wanted":   {input(0, has(makeVM(0, marked))), PowerOffVM, ForScale},
		"destroyed since fewer are wanted": {input(0, has(makeVM(0, marked, off))), DestroyVM, ForScale},
		"deleted":                          {input(1, healthy(0), deleting), MarkVM, ForDelete},
		"destroyed with its group":         {input(1, has(makeVM(0, marked, off)), deleting), DestroyVM, ForDelete},
		"released with its group":          {input(1, healthy(0), deleting, spec(func(s *v1alpha1.VmGroupSpec) { s.DeletionPolicy = v1alpha1.DeletionRetain })), ReleaseVM, ForDelete},
		"a clone is canceled":              {input(1, knows(intent(0, 0)), running(vsphere.OpClone, 0, vsphere.HangsAfter), runsAsTask, deleting), CancelClone, ForDelete},
		"taken over":                       {input(1, adopts(makeVM(0, theOlds))), MoveVM, ForAdopt},
		"one more for an update":           {input(1, has(makeVM(0, older)), rollout), CreateVM, ForUpdate},
		"an older one leaves":              {input(1, has(makeVM(0, older), makeVM(1)), rollout), MarkVM, ForUpdate},
		"started after a change":           {input(1, knows(func() Known { k := makeKnown(0); k.Updating = true; return k }()), sees(makeVM(0, off))), PowerOnVM, ForUpdate},
	} {
		actions := Compute(c.in).Actions
		at := slices.IndexFunc(actions, func(a Action) bool { return a.Kind == c.kind })
		if at < 0 {
			t.Errorf("%s: no %s in %+v", story, c.kind, actions)
		} else if actions[at].Cause != c.want {
			t.Errorf("%s: %s for %q, want %q", story, c.kind, actions[at].Cause, c.want)
		}
	}
}
