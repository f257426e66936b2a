package vmgroup

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// running are the facts of a group with two ready VMs.
func running() facts {
	return facts{
		name: "vg-1", generation: 4, now: noon, complete: true, vcenter: "default",
		spec:   v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: "t"},
		folder: &v1alpha1.FolderStatus{Path: "/DC/vm/vm-operator/a/b/vg-1.12345678", MoRef: "group-v1"},
		hold:   policy.Hold{Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonPolicyAllows, Message: "allowed"},
		plan: plan.Plan{
			Desired: 2, Existing: 2, Ready: 2, Updated: 2, Settled: true,
			Slots: []plan.Slot{
				{Ordinal: 0, Name: "vg-1-0", MoRef: "vm-1", UUID: "u0", Phase: v1alpha1.VMReady, Revision: "1-a", ReadySince: noon, Available: true},
				{Ordinal: 1, Name: "vg-1-1", MoRef: "vm-2", UUID: "u1", Phase: v1alpha1.VMReady, Revision: "1-a", ReadySince: noon, Available: true},
			},
		},
	}
}

func TestStatusTellsTheStateOfAGroup(t *testing.T) {
	for _, c := range []struct {
		story   string
		change  func(*facts)
		phase   v1alpha1.Phase
		message string
		ready   metav1.ConditionStatus
		reason  string
		present []string
		absent  []string
	}{
		{
			story: "all is well, in the original's words", change: func(*facts) {},
			phase: v1alpha1.PhaseRunning, message: "successfully reconciled VmGroup", ready: "True", reason: v1alpha1.ReasonAllVMsReady,
			absent: []string{v1alpha1.ConditionStalled, v1alpha1.ConditionReconciling, v1alpha1.ConditionForeignVMs},
		},
		{
			story: "scaling up",
			change: func(f *facts) {
				f.plan.Desired, f.plan.Settled = 5, false
			},
			phase: v1alpha1.PhasePending, message: "2 of 5 VMs are there", ready: "False", reason: v1alpha1.ReasonScalingUp,
			present: []string{v1alpha1.ConditionReconciling},
		},
		{
			story: "a missing template stalls, and its sentence is the message",
			change: func(f *facts) {
				f.plan.Desired, f.plan.Settled = 3, false
				f.plan.Blockers = []plan.Blocker{{Reason: v1alpha1.ReasonTemplateNotFound, Terminal: true, Message: `template "x" does not exist`}}
			},
			phase: v1alpha1.PhaseError, message: `template "x" does not exist`, ready: "False", reason: v1alpha1.ReasonTemplateNotFound,
			present: []string{v1alpha1.ConditionStalled}, absent: []string{v1alpha1.ConditionReconciling},
		},
		{
			story: "an outage keeps what was last known and claims nothing",
			change: func(f *facts) {
				f.old.VMs = []v1alpha1.VMStatus{{Name: "vg-1-0", MoRef: "vm-1"}, {Name: "vg-1-1", Ordinal: 1, MoRef: "vm-2"}}
				f.old.Replicas = 2
				f.complete, f.unavailable = false, &plan.Blocker{Reason: v1alpha1.ReasonVCenterUnreachable, Message: "VCenter cannot be reached"}
				f.plan = plan.Plan{Desired: 2, Blockers: []plan.Blocker{{Reason: v1alpha1.ReasonInventoryIncomplete, Message: "incomplete"}}}
			},
			phase: v1alpha1.PhasePending, message: "VCenter cannot be reached", ready: "Unknown", reason: v1alpha1.ReasonVCenterUnreachable,
			absent: []string{v1alpha1.ConditionStalled},
		},
		{
			story: "a foreign VM does not make a running group unready",
			change: func(f *facts) {
				f.plan.Foreign = []plan.Foreign{{MoRef: "vm-9", Name: "vg-1-2", TakesName: true}}
				f.plan.Blockers = []plan.Blocker{{Reason: v1alpha1.ReasonNameConflict, Message: "vg-1-2 is taken"}}
			},
			phase: v1alpha1.PhaseRunning, message: "successfully", ready: "True", reason: v1alpha1.ReasonAllVMsReady,
			present: []string{v1alpha1.ConditionForeignVMs},
		},
		{
			story: "a grant that was taken away is reported while the VMs run on",
			change: func(f *facts) {
				f.hold.Status, f.hold.Reason = metav1.ConditionFalse, v1alpha1.ReasonNotGranted
			},
			phase: v1alpha1.PhaseRunning, message: "successfully", ready: "True", reason: v1alpha1.ReasonAllVMsReady,
		},
		{
			story: "deleting",
			change: func(f *facts) {
				f.deleting, f.plan.Settled = true, false
				f.plan.Desired, f.plan.Existing, f.plan.Ready, f.plan.Doomed = 0, 0, 0, []int32{0, 1}
			},
			phase: v1alpha1.PhasePending, message: "2 VMs are left", ready: "False", reason: v1alpha1.ReasonDeleting,
		},
		{
			story: "repairing",
			change: func(f *facts) {
				f.plan.Existing, f.plan.Ready, f.plan.Repairing, f.plan.Settled = 1, 1, true, false
			},
			phase: v1alpha1.PhasePending, message: "1 of 2", ready: "False", reason: v1alpha1.ReasonRepairing,
		},
		{
			story: "slower than the deadline",
			change: func(f *facts) {
				f.plan.Ready, f.plan.Settled = 1, false
				f.spec.Readiness = &v1alpha1.Readiness{ProgressDeadlineSeconds: 60}
				f.old.Conditions = []metav1.Condition{{
					Type: v1alpha1.ConditionReconciling, Status: "True", Reason: "x", LastTransitionTime: metav1.NewTime(noon.Add(-time.Minute)),
				}}
			},
			phase: v1alpha1.PhaseError, message: "progressDeadlineSeconds", ready: "False", reason: v1alpha1.ReasonStarting,
			present: []string{v1alpha1.ConditionStalled, v1alpha1.ConditionReconciling},
		},
	} {
		t.Run(c.story, func(t *testing.T) {
			f := running()
			c.change(&f)
			s := newStatus(f)
			ready := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady)
			if s.Phase != c.phase || ready.Status != c.ready || ready.Reason != c.reason {
				t.Errorf("got %s, Ready %s/%s; want %s, %s/%s", s.Phase, ready.Status, ready.Reason, c.phase, c.ready, c.reason)
			}
			if !strings.Contains(s.LastMessage, c.message) {
				t.Errorf("message %q does not say %q", s.LastMessage, c.message)
			}
			for _, conditionType := range c.present {
				if !meta.IsStatusConditionTrue(s.Conditions, conditionType) {
					t.Errorf("condition %s is missing", conditionType)
				}
			}
			for _, conditionType := range c.absent {
				if meta.FindStatusCondition(s.Conditions, conditionType) != nil {
					t.Errorf("condition %s should not be there", conditionType)
				}
			}
			if !f.complete && len(s.VMs) != len(f.old.VMs) {
				t.Error("an incomplete observation changed the table of VMs")
			}
			f.old, f.now = s, noon.Add(time.Hour)
			f.spec.Readiness = nil
			if again := newStatus(f); c.reason != v1alpha1.ReasonStarting && !equality.Semantic.DeepEqual(s, again) {
				t.Error("the same facts give another status an hour later: it would be written for ever")
			}
		})
	}
}

func TestOnlyReportsMayWait(t *testing.T) {
	f := running()
	old := newStatus(f)
	f.plan.Slots[0].IPAddress = "10.0.0.1"
	if urgent(old, newStatus(f)) {
		t.Error("an IP address is written at once: a big scale-up would flood the API server")
	}
	for story, change := range map[string]func(*facts){
		"an intent to clone": func(f *facts) {
			f.plan.Slots = append(f.plan.Slots, plan.Slot{Ordinal: 2, UUID: "u2", Phase: v1alpha1.VMCloning})
		},
		"another incarnation": func(f *facts) { f.plan.Slots[0].UUID, f.plan.Slots[0].MoRef = "u0b", "" },
		"a doomed ordinal":    func(f *facts) { f.plan.Doomed = []int32{1} },
		"a new generation":    func(f *facts) { f.generation++ },
		"another epoch":       func(f *facts) { f.epoch = v1alpha1.Epoch{Number: 1} },
		"what was admitted":   func(f *facts) { f.hold.Admitted = &v1alpha1.Admitted{CPU: 1} },
		"losing readiness":    func(f *facts) { f.plan.Ready, f.plan.Settled = 1, false },
	} {
		f := running()
		f.old = old
		change(&f)
		if !urgent(old, newStatus(f)) {
			t.Errorf("%s may wait", story)
		}
	}
}

func TestEventsTellTransitionsOnce(t *testing.T) {
	f := running()
	before := newStatus(f)
	f.old = before
	if got := transitions(before, newStatus(f)); len(got) != 0 {
		t.Errorf("nothing changed, but events say %v", got)
	}
	f.plan.Slots[1].Incarnation, f.plan.Slots[1].MoRef = 1, ""
	f.plan.Existing, f.plan.Ready, f.plan.Repairing, f.plan.Settled = 1, 1, true, false
	lost := newStatus(f)
	if reasons := reasonsOf(transitions(before, lost)); reasons != "Repairing VMsReplaced" {
		t.Errorf("a replaced VM gives events %q", reasons)
	}
	f.old = lost
	f.plan.Slots[1].MoRef = "vm-3"
	if reasons := reasonsOf(transitions(lost, newStatus(f))); reasons != "VMsCreated" {
		t.Errorf("its replacement gives events %q", reasons)
	}
	f.plan.Slots = f.plan.Slots[:1]
	if reasons := reasonsOf(transitions(newStatus(f), newStatus(f))); reasons != "" {
		t.Errorf("no change gives events %q", reasons)
	}
	if reasons := reasonsOf(transitions(before, newStatus(f))); !strings.Contains(reasons, "VMsRemoved") {
		t.Errorf("a removed VM gives events %q", reasons)
	}
}

func TestAnEventTellsThatAPolicyWasTightened(t *testing.T) {
	f := running()
	before := newStatus(f)
	f.old = before
	f.hold.Status, f.hold.Reason = metav1.ConditionFalse, v1alpha1.ReasonPolicyTightened
	tightened := newStatus(f)
	if reasons := reasonsOf(transitions(before, tightened)); reasons != v1alpha1.ReasonPolicyTightened {
		t.Errorf("events are %q", reasons)
	}
	f.old = tightened
	f.hold.Message = "said in other words"
	if reasons := reasonsOf(transitions(tightened, newStatus(f))); reasons != "" {
		t.Errorf("said again: %q", reasons)
	}
	f.hold.Reason, f.hold.Held, f.hold.Terminal = v1alpha1.ReasonPolicyViolated, true, true
	if reasons := reasonsOf(transitions(tightened, newStatus(f))); reasons != v1alpha1.ReasonPolicyViolated {
		t.Errorf("a group that is held is told of with %q, want one event", reasons)
	}
}

func reasonsOf(ts []transition) string {
	reasons := make([]string, 0, len(ts))
	for _, t := range ts {
		reasons = append(reasons, t.reason)
	}
	return strings.Join(reasons, " ")
}

func TestTruncateKeepsCharactersWhole(t *testing.T) {
	for n := 3; n < 12; n++ {
		if got := truncate("äöüäöüäöü", n); len(got) > n || strings.ContainsRune(got, '\uFFFD') {
			t.Errorf("truncate to %d gives %q", n, got)
		}
	}
}

func TestAGroupsFolderIsItsOwnForEver(t *testing.T) {
	group := func(name, uid string) *v1alpha1.VmGroup {
		g := &v1alpha1.VmGroup{}
		g.Name, g.UID = name, "00000000-x"
		if uid != "" {
			g.UID = "11111111-x"
		}
		return g
	}
	if folderName(group("web", "")) == folderName(group("web", "again")) {
		t.Error("a group that was created again would find the VMs of its predecessor")
	}
}
