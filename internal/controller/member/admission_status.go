package member

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// admissionCondition is the condition AdmissionReady. in.admission is true.
func admissionCondition(in statusInput) metav1.Condition {
	before := meta.FindStatusCondition(in.previous.Conditions, v1alpha1.ConditionAdmissionReady)
	found := in.seen.admission
	away := in.config != nil || in.seen.problem != nil || found != nil && found.Status == metav1.ConditionUnknown
	switch {
	case away && behind(in):
		return metav1.Condition{
			Type: v1alpha1.ConditionAdmissionReady, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonCABundleBehind,
			Message: "The member cannot be reached and does not know the current certificate authority of the hub's webhook. It " +
				"learns it as soon as it answers; see condition Ready.",
		}
	case found != nil && in.config == nil && (in.seen.problem == nil || found.Status != metav1.ConditionUnknown || before == nil):
		return metav1.Condition{
			Type: v1alpha1.ConditionAdmissionReady, Status: found.Status, Reason: found.Reason, Message: found.Message,
		}
	case before != nil && before.Reason != v1alpha1.ReasonCABundleBehind:
		return *before
	}
	return metav1.Condition{
		Type: v1alpha1.ConditionAdmissionReady, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonAdmissionPending,
		Message: "The admission objects were not installed yet; see condition Ready.",
	}
}

// behind reports whether the member acknowledged another CA bundle than it should have. One that has no webhook has
// nothing to be behind with.
func behind(in statusInput) bool {
	acknowledged := in.previous.CABundleHash
	if in.seen.acknowledged != nil && in.config == nil {
		acknowledged = *in.seen.acknowledged
	}
	return acknowledged != "" && in.caBundle != "" && acknowledged != in.caBundle
}
