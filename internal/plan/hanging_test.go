package plan

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// task gives the operation in flight a task in vCenter.
func task(in *Input) {
	for i := range in.Observation.InFlight {
		in.Observation.InFlight[i].Task = "task-77"
	}
}

var errNotCancelable = errors.New("no")

// asked marks the operation in flight as canceled in vCenter a while ago.
func asked(ago time.Duration, err error) option {
	return func(in *Input) {
		for i := range in.Observation.InFlight {
			in.Observation.InFlight[i].CanceledAt, in.Observation.InFlight[i].CancelErr = in.Now.Add(-ago), err
		}
	}
}

func TestATaskThatRunsForLongIsNamedAndHoldsNoDeletion(t *testing.T) {
	const short, long = vsphere.HangsAfter - time.Second, vsphere.HangsAfter
	off := power(vsphere.PoweredOff)
	for story, c := range map[string]struct {
		in      Input
		actions string
		// told is the VM's message; empty if none is needed.
		told string
	}{
		"a power-on that takes a moment":      {input(1, has(makeVM(0, off)), running(vsphere.OpPowerOn, 0, short), task), "", ""},
		"a power-on that hangs":               {input(1, has(makeVM(0, off)), running(vsphere.OpPowerOn, 0, long), task), "", "its power-on runs"},
		"a deletion during a power-on":        {input(1, has(makeVM(0, off)), running(vsphere.OpPowerOn, 0, short), task, deleting), "", ""},
		"a deletion while a power-on hangs":   {input(1, has(makeVM(0, off)), running(vsphere.OpPowerOn, 0, long), task, deleting), "MarkVM", "its power-on runs"},
		"a deletion while a change hangs":     {input(1, has(makeVM(0)), running(vsphere.OpReconfigure, 0, long), task, deleting), "MarkVM", "its change runs"},
		"a deletion while a mark hangs":       {input(1, has(makeVM(0)), running(vsphere.OpMark, 0, long), task, deleting), "MarkVM", "before its removal runs"},
		"a deletion while a power-off hangs":  {input(1, has(makeVM(0, marked)), running(vsphere.OpPowerOff, 0, long), task, deleting), "PowerOffVM", "its power-off runs"},
		"a deletion while a restamping hangs": {input(1, has(makeVM(0)), running(vsphere.OpRestamp, 0, long), task, deleting), "MarkVM", "the change of its stamp runs"},
		"a release that hangs":                {input(1, spec(retain), has(makeVM(0)), running(vsphere.OpRelease, 0, long), task, deleting), "", "leaves the group runs"},
		"a destruction that hangs":            {input(1, has(makeVM(0, marked, off)), running(vsphere.OpDestroy, 0, long), task, deleting), "", "its destruction runs"},
		"a clone that hangs keeps its name":   {input(1, knows(intent(0, 0)), running(vsphere.OpClone, 0, long), task), "", "its clone runs"},
		"a deletion during a clone":           {input(1, knows(intent(0, 0)), running(vsphere.OpClone, 0, short), task, deleting), "", ""},
		"a deletion while a clone hangs":      {input(1, knows(intent(0, 0)), running(vsphere.OpClone, 0, long), task, deleting), "CancelClone", "its clone runs"},
		"a scale-down while a clone hangs":    {input(0, knows(intent(0, 0)), doomed(0), running(vsphere.OpClone, 0, long), task), "CancelClone", "its clone runs"},
		"one that is paused":                  {input(1, knows(intent(0, 0)), running(vsphere.OpClone, 0, long), task, deleting, paused), "", "its clone runs"},
		"one that vCenter is canceling":       {input(1, knows(intent(0, 0)), running(vsphere.OpClone, 0, long), task, deleting, asked(0, nil)), "", "was asked to cancel it"},
		"one that vCenter did not cancel":     {input(1, knows(intent(0, 0)), running(vsphere.OpClone, 0, long), task, deleting, asked(short, errNotCancelable)), "", "did not cancel it: no"},
		"one that it is asked again about":    {input(1, knows(intent(0, 0)), running(vsphere.OpClone, 0, long), task, deleting, asked(long, errNotCancelable)), "CancelClone", "did not cancel it: no"},
		"a request whose reply was lost long": {input(1, has(makeVM(0, off)), running(vsphere.OpPowerOn, 0, long), deleting), "", ""},
	} {
		t.Run(story, func(t *testing.T) {
			p := Compute(c.in)
			if got := actionsOf(p); (c.actions == "") != (got == "") || !strings.Contains(got, c.actions) {
				t.Errorf("actions %q, want %q", got, c.actions)
			}
			message := vmStatus(t, p, 0).Message
			if (c.told == "") != !strings.Contains(message, "task-77") || !strings.Contains(message, c.told) {
				t.Errorf("the VM's message is %q, want %q", message, c.told)
			}
			if hangs := vmStatus(t, p, 0).Hangs; (hangs == "") != (c.told == "") || !strings.Contains(message, hangs) {
				t.Errorf("Hangs is %q, and the VM's message is %q", hangs, message)
			}
			if c.told != "" && !strings.Contains(message, "since "+epoch.Add(-long).Format(time.RFC3339)) {
				t.Errorf("%q does not say since when", message)
			}
			if c.told == "" && len(c.in.Observation.InFlight) > 0 && c.in.Observation.InFlight[0].Task != "" && !p.WakeAt.Equal(epoch.Add(time.Second)) {
				t.Errorf("it is looked again at %s", p.WakeAt)
			}
		})
	}
}

// An operation that hangs on a VM outside the group, such as a move during an adoption, does not
// hold a deletion either.
func TestATaskThatHangsOnAForeignVMHoldsNoDeletion(t *testing.T) {
	for story, c := range map[string]struct {
		kind vsphere.OperationKind
		age  time.Duration
		gone bool
	}{
		"a move that takes a moment": {vsphere.OpMove, vsphere.HangsAfter - time.Second, false},
		"a move that hangs":          {vsphere.OpMove, vsphere.HangsAfter, true},
		"an adoption that hangs":     {vsphere.OpAdopt, vsphere.HangsAfter, true},
	} {
		if p := Compute(input(1, running(c.kind, 0, c.age), task, deleting)); p.Gone != c.gone {
			t.Errorf("%s: the group may go: %v", story, p.Gone)
		}
	}
}

func TestAVMThatWaitsForAnAnswerIsNamed(t *testing.T) {
	asks := func(vm *vsphere.VM) { vm.Power, vm.Question = vsphere.PoweredOff, "moved\x1b or copied?" }
	for story, in := range map[string]Input{
		"while it starts":         input(1, has(makeVM(0, asks)), running(vsphere.OpPowerOn, 0, time.Second), task),
		"while it starts forever": input(1, has(makeVM(0, asks)), running(vsphere.OpPowerOn, 0, time.Hour), task),
		"while it is deleted":     input(1, has(makeVM(0, asks)), running(vsphere.OpPowerOn, 0, time.Second), task, deleting),
	} {
		if message := vmStatus(t, Compute(in), 0).Message; !strings.Contains(message, "answer it in the vSphere Client") ||
			!strings.Contains(message, "or copied?") || strings.Contains(message, "\x1b") {
			t.Errorf("%s: %q", story, message)
		}
	}
}
