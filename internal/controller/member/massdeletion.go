package member

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
)

// allowedUntil reads the annotation that lets any number of VMs leave; zero if there is none.
func allowedUntil(mc *v1alpha1.MemberCluster) (time.Time, error) {
	value := mc.Annotations[v1alpha1.AllowMassDeletionAnnotation]
	if value == "" {
		return time.Time{}, nil
	}
	return time.Parse(time.RFC3339, value)
}

// allowanceProblem says why the annotation does not count, or "". again is when it will, or zero.
func allowanceProblem(mc *v1alpha1.MemberCluster, now time.Time) (problem string, again time.Time) {
	until, err := allowedUntil(mc)
	value := mc.Annotations[v1alpha1.AllowMassDeletionAnnotation]
	switch {
	case err != nil:
		problem = fmt.Sprintf("Annotation %s is %q, which is no time in RFC 3339, and allows nothing; set it so: %s",
			v1alpha1.AllowMassDeletionAnnotation, value[:min(len(value), 40)], massdeletion.AllowCommand(mc.Name))
	case !until.IsZero():
		if _, again = massdeletion.Allows(until, now); !again.IsZero() {
			problem = fmt.Sprintf("Annotation %s is %s, more than an hour ahead, and allows nothing before %s; to allow it now: %s",
				v1alpha1.AllowMassDeletionAnnotation, until.UTC().Format(time.RFC3339), again.UTC().Format(time.RFC3339), massdeletion.AllowCommand(mc.Name))
		}
	}
	return problem, again
}

// setMassDeletion tells how much is held, and what is wrong with the annotation that would let it pass.
func setMassDeletion(status *v1alpha1.MemberClusterStatus, in statusInput) {
	condition := metav1.Condition{Type: v1alpha1.ConditionMassDeletion, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonAllowanceInvalid, Message: in.allowanceProblem}
	if status.HeldGroups > 0 {
		condition.Reason = v1alpha1.ReasonRemovalsHeld
		condition.Message = fmt.Sprintf("%d VMs of %d VmGroups are to be removed and are held, because so many at once may be an accident; each group says how its own go on. "+
			"To let all of them pass: %s", status.HeldVMs, status.HeldGroups, massdeletion.AllowCommand(in.name))
		if in.allowanceProblem != "" {
			condition.Message += ". " + in.allowanceProblem
		}
	}
	if condition.Message == "" {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionMassDeletion)
		return
	}
	set(status, in, condition)
}
