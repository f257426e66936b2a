package group

import (
	"cmp"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
)

// setUpToDate reports whether every VM has the revision of spec.
//
// While the observation is incomplete, it is unknown whether all VMs have that revision. If status shows that some do not, the condition reports that, because status is about to
// report the edit as observed. An earlier report about the same edit is kept.
func setUpToDate(s *v1alpha1.VmGroupStatus, f Facts, set func(string, metav1.ConditionStatus, string, string)) {
	update := f.Plan.Update
	begins := f.begins()
	if begins && f.Failure != nil && update.Reason == "" {
		update = plan.Update{
			Reason:  v1alpha1.ReasonRolloutPending,
			Message: "spec was edited, and no VM has been updated since. They are updated once this is solved: " + f.Failure.Message,
		}
	}
	differs := update.Reason != "" && update.Reason != v1alpha1.ReasonUpToDate
	switch {
	case differs && (f.Complete || begins || meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionUpToDate)):
		set(v1alpha1.ConditionUpToDate, metav1.ConditionFalse, update.Reason, update.Message)
	case !differs && f.Complete:
		set(v1alpha1.ConditionUpToDate, metav1.ConditionTrue, v1alpha1.ReasonUpToDate, cmp.Or(update.Message, "Every VM has the current revision."))
	}
}

// begins is true when an edit that updates VMs is observed for the first time.
func (f Facts) begins() bool {
	was := f.Old.Rollout
	return f.Rollout != nil && len(f.Rollout.From) > 0 && (was == nil || was.Revision != f.Rollout.Revision)
}

// recordedAs returns the number of recorded VMs that exist and have a revision.
func recordedAs(revision string, vms []v1alpha1.VMStatus) int32 {
	n := int32(0)
	for i := range vms {
		if vms[i].MoRef != "" && vms[i].Revision == revision && vms[i].Phase != v1alpha1.VMDeleting {
			n++
		}
	}
	return n
}
