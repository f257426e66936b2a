// Package kstatus derives the conditions Stalled and Reconciling of the hub's kinds from condition Ready. Helm, Flux and kpt read both conditions. They
// fail immediately if an object is stalled, and wait if it is reconciling.
package kstatus

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// stalling are the reasons of Ready=False that need a user's change. All other reasons can pass without a change: the operator retries, or another tool
// can still create an object, such as a Secret.
var stalling = map[string]bool{
	// VmGroupPolicy
	v1alpha1.ReasonPolicyInvalid: true,

	// VCenter
	v1alpha1.ReasonSecretInvalid:          true,
	v1alpha1.ReasonSecretForAnotherHost:   true,
	v1alpha1.ReasonSecretWithoutHost:      true,
	v1alpha1.ReasonInvalidLogin:           true,
	v1alpha1.ReasonCertificateRefused:     true,
	v1alpha1.ReasonInvalidConfiguration:   true,
	v1alpha1.ReasonAnotherVCenter:         true,
	v1alpha1.ReasonPrivilegesMissing:      true,
	v1alpha1.ReasonInventorySuddenlyEmpty: true,

	// MemberCluster
	v1alpha1.ReasonKubeconfigRefused:   true,
	v1alpha1.ReasonUnauthorized:        true,
	v1alpha1.ReasonClaimedByAnotherHub: true,
	v1alpha1.ReasonDuplicateMember:     true,
	v1alpha1.ReasonAnotherCluster:      true,
	v1alpha1.ReasonKnownByAnotherName:  true,
	v1alpha1.ReasonCRDNewer:            true,
	v1alpha1.ReasonCRDForeign:          true,
	v1alpha1.ReasonLocalDisabled:       true,
	v1alpha1.ReasonRedirectRefused:     true,
	v1alpha1.ReasonAddressRefused:      true,

	// VCenter and MemberCluster
	v1alpha1.ReasonLimitExceeded: true,
}

// Stalls reports whether a user must act on the reason of Ready=False before the operator can continue.
func Stalls(reason string) bool { return stalling[reason] }

// Derive sets Stalled or Reconciling from condition Ready. It removes both if Ready is true or missing.
func Derive(conditions *[]metav1.Condition, now time.Time) {
	ready := meta.FindStatusCondition(*conditions, v1alpha1.ConditionReady)
	if ready == nil || ready.Status == metav1.ConditionTrue {
		meta.RemoveStatusCondition(conditions, v1alpha1.ConditionStalled)
		meta.RemoveStatusCondition(conditions, v1alpha1.ConditionReconciling)
		return
	}
	is, not := v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled
	if ready.Status == metav1.ConditionFalse && Stalls(ready.Reason) {
		is, not = not, is
	}
	derived := *ready
	derived.Type, derived.Status, derived.LastTransitionTime = is, metav1.ConditionTrue, metav1.NewTime(now.Truncate(time.Second))
	meta.RemoveStatusCondition(conditions, not)
	meta.SetStatusCondition(conditions, derived)
}
