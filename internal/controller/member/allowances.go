package member

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group/allowance"
)

// allowanceProblem says which annotations do not allow what they are meant to, or is "". again is when the first of them will, or zero.
func allowanceProblem(mc *v1alpha1.MemberCluster, now time.Time) (problem string, again time.Time) {
	return allowance.Problem("membercluster", mc, now,
		v1alpha1.AllowMassDeletionAnnotation, v1alpha1.AllowAdoptionAnnotation, v1alpha1.AllowForgetAnnotation, v1alpha1.AcceptAdmittedAnnotation)
}

// setAllowances tells what is wrong with annotations that allow something for a while.
func setAllowances(status *v1alpha1.MemberClusterStatus, in statusInput) {
	if in.allowanceProblem == "" {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionInvalidAllowances)
		return
	}
	set(status, in, metav1.Condition{Type: v1alpha1.ConditionInvalidAllowances, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonAllowanceInvalid, Message: in.allowanceProblem})
}
