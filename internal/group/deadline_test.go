package group

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
)

// updates are the facts of a group whose update began at noon and must not take more than ten minutes.
func updates() Facts {
	f := running()
	f.Spec.Readiness = &v1alpha1.Readiness{ProgressDeadlineSeconds: 600}
	f.Plan.Settled, f.Plan.Update = false, plan.Update{Reason: v1alpha1.ReasonRolloutProgressing, Message: "1 of 2 VMs updated."}
	f.Rollout = &plan.Rollout{Revision: "b", From: []string{"1-a"}, Start: noon}
	f.Old = f.Status()
	return f
}

// A replica that takes over a group sees no inventory for a while. That does not restart the time limit of the update.
func TestTheDeadlineOfAnUpdateOutlivesATakeover(t *testing.T) {
	f := updates()
	want := noon.Add(10 * time.Minute)
	for i, complete := range []bool{false, false, true} {
		f.Now, f.Complete, f.Incomplete = f.Now.Add(2*time.Minute), complete, "the inventory is read"
		f.Old = f.Status()
		if got := ProgressDeadline(&f.Old, f.Spec); !got.Equal(want) {
			t.Errorf("after %d looks it ends at %s, want %s", i+1, got, want)
		}
	}
	f.Now = want
	s := f.Status()
	if c := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionStalled); c == nil || c.Reason != v1alpha1.ReasonProgressDeadlineExceeded {
		t.Errorf("at its end the group says %+v", s.Conditions)
	}
}

func TestNothingIsUnderWayWhereSomebodyHasToAct(t *testing.T) {
	for story, change := range map[string]func(*Facts){
		"the group is paused":     func(f *Facts) { f.Paused = &plan.Blocker{Reason: v1alpha1.ReasonPaused, Message: "why"} },
		"vCenter refuses a login": func(f *Facts) { f.Unavailable = &plan.Blocker{Reason: v1alpha1.ReasonInvalidLogin, Terminal: true} },
	} {
		f := updates()
		f.Complete, f.Incomplete = false, "the inventory is read"
		change(&f)
		if s := f.Status(); meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionReconciling) {
			t.Errorf("%s: %+v", story, s.Conditions)
		}
	}
}

// A new start of the update is stored at once, without any other change.
func TestTheStartOfAnUpdateDoesNotWait(t *testing.T) {
	f := updates()
	later := *f.Rollout
	later.Start = noon.Add(time.Minute)
	f.Rollout = &later
	if !Urgent(f.Old, f.Status()) {
		t.Error("who takes over then has the former start")
	}
}
