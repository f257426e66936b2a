package group

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
)

// Status reports by its generation that it has seen the edit. So it must not also report that all VMs match spec.
func TestAnEditThatNobodyCouldPlanIsNotUpToDate(t *testing.T) {
	unseen := func(s *Snapshot) {
		s.Observation.Complete, s.Observation.VMs, s.Observation.Incomplete, s.OutOfSight = false, nil, "vCenter cannot be reached", noon.Add(-time.Minute)
		s.See(s.Observation)
	}
	before := func(s *Snapshot) *Snapshot {
		s.Group.Status.Phase, s.Group.Status.UpdatedReplicas = v1alpha1.PhaseRunning, 3
		s.Group.Status.Conditions = []metav1.Condition{
			{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonAllVMsReady, Message: "3 of 3", ObservedGeneration: 1},
			{Type: v1alpha1.ConditionUpToDate, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonUpToDate, Message: "All VMs have it.", ObservedGeneration: 1},
		}
		return s
	}
	blocked := func(s *Snapshot) Decision {
		return s.blocked(plan.Blocker{Reason: v1alpha1.ReasonCRDTerminating, Message: "the CRD is being deleted", Terminal: true}, 0)
	}
	for story, c := range map[string]struct {
		decide          func(*Snapshot) Decision
		reason, message string
		phase           v1alpha1.Phase
	}{
		"vCenter is out of sight": {func(s *Snapshot) Decision { unseen(s); return Decide(s) }, v1alpha1.ReasonRolloutProgressing,
			"0 of 3 VMs updated; waiting for the inventory", v1alpha1.PhasePending},
		"nothing is done": {blocked, v1alpha1.ReasonRolloutPending, "once this is solved: the CRD is being deleted", v1alpha1.PhaseError},
	} {
		s := before(edited())
		d := c.decide(s)
		if d.Status == nil || d.Status.ObservedGeneration != 2 {
			t.Fatalf("%s: %s writes %+v", story, d.Step, d.Status)
		}
		told := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionUpToDate)
		if told.Status != metav1.ConditionFalse || told.Reason != c.reason || !strings.Contains(told.Message, c.message) || told.ObservedGeneration != 2 {
			t.Errorf("%s: it says %+v", story, told)
		}
		if d.Status.UpdatedReplicas != 0 || d.Status.Phase != c.phase || d.Status.LastMessage == messageReconciled {
			t.Errorf("%s: %d are updated, and it is %s: %s", story, d.Status.UpdatedReplicas, d.Status.Phase, d.Status.LastMessage)
		}
		if ready := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionReady); ready.Status != metav1.ConditionUnknown {
			t.Errorf("%s: Ready is %+v", story, ready)
		}

		s.Group.Status, s.Now = *d.Status, s.Now.Add(time.Minute)
		if d := c.decide(s); d.Status != nil {
			t.Errorf("%s: nothing is new, and it writes %+v", story, d.Status)
		}
	}
}

// An invisible vCenter is no news about VMs that were not edited.
func TestAGroupThatIsNotSeenStaysAsUpToDateAsItWas(t *testing.T) {
	for _, was := range []metav1.Condition{
		{Type: v1alpha1.ConditionUpToDate, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonUpToDate, Message: "All VMs have it."},
		{Type: v1alpha1.ConditionUpToDate, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonRolloutProgressing, Message: "2 of 3."},
	} {
		s := edited()
		s.Group.Status.UpdatedReplicas, s.Group.Status.Conditions = 3, []metav1.Condition{was}
		s.Group.Status.Rollout = &v1alpha1.Rollout{Revision: s.Revision}
		if was.Status == metav1.ConditionFalse {
			s.Group.Status.Rollout.From = []string{s.Group.Status.VMs[0].Revision}
		} else {
			for i := range s.Group.Status.VMs {
				s.Group.Status.VMs[i].Revision = s.Revision
			}
		}
		s.Observation.Complete, s.Observation.VMs, s.OutOfSight = false, nil, noon.Add(-time.Minute)
		s.See(s.Observation)
		d := Decide(s)
		if d.Status == nil {
			t.Fatalf("%s writes nothing", d.Step)
		}
		if told := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionUpToDate); told.Status != was.Status || told.Message != was.Message {
			t.Errorf("it was %+v, and is %+v", was, told)
		}
		if was.Status == metav1.ConditionTrue && d.Status.UpdatedReplicas != 3 {
			t.Errorf("%d are updated", d.Status.UpdatedReplicas)
		}
	}
}
