// Package conditions reads the conditions of the operator's objects as a person does: which of them report trouble.
package conditions

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/term"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// Polarity is how to read the conditions of a kind. A condition that it does not name reports trouble while it is True.
type Polarity struct {
	// Good conditions must be True. The first of them is Ready, which must exist.
	Good []string
	// Neutral conditions report no trouble.
	Neutral []string
}

// Polarities of the kinds of the operator.
var (
	OfMember = Polarity{
		Good: []string{
			v1alpha1.ConditionReady, v1alpha1.ConditionCredentialsValid, v1alpha1.ConditionClaimed, v1alpha1.ConditionCRDInstalled, v1alpha1.ConditionAdmissionReady,
		},
		Neutral: []string{v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled},
	}
	OfVCenter = Polarity{
		Good: []string{
			v1alpha1.ConditionReady, v1alpha1.ConditionReachable, v1alpha1.ConditionCredentialsValid, v1alpha1.ConditionPrivilegesSufficient, v1alpha1.ConditionInventoryComplete,
			v1alpha1.ConditionPredecessorGone,
		},
		Neutral: []string{v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled, v1alpha1.ConditionKeptVMs},
	}
	OfGroup = Polarity{
		Good:    []string{v1alpha1.ConditionReady, v1alpha1.ConditionPolicyCompliant, v1alpha1.ConditionVCenterReachable, v1alpha1.ConditionUpToDate, v1alpha1.ConditionAdopted},
		Neutral: []string{v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled},
	}
)

// Troubles returns the conditions that a person must check, Ready first, then the other good ones. It leaves out what is unknown because the object is not
// ready.
func Troubles(conditions []metav1.Condition, p Polarity) (found []metav1.Condition) {
	if meta.FindStatusCondition(conditions, v1alpha1.ConditionReady) == nil {
		return []metav1.Condition{{
			Type: v1alpha1.ConditionReady, Status: metav1.ConditionUnknown, Reason: "NotReported", Message: "The operator has not reported on it. Check that the operator runs on the hub.",
		}}
	}
	for _, name := range p.Good {
		c := meta.FindStatusCondition(conditions, name)
		if c != nil && c.Status != metav1.ConditionTrue && (len(found) == 0 || c.Status == metav1.ConditionFalse) {
			found = append(found, *c)
		}
	}
	found = append(found, p.Abnormal(conditions)...)
	return slices.CompactFunc(found, func(a, b metav1.Condition) bool { return a.Reason == b.Reason && a.Message == b.Message })
}

// Abnormal returns the conditions that report trouble because they are True.
func (p Polarity) Abnormal(conditions []metav1.Condition) (found []metav1.Condition) {
	for _, c := range conditions {
		if c.Status == metav1.ConditionTrue && !slices.Contains(p.Good, c.Type) && !slices.Contains(p.Neutral, c.Type) {
			found = append(found, c)
		}
	}
	return found
}

// longest is the number of bytes of a message.
const longest = 2000

// Reason returns the reason of a condition in a form that is safe for a terminal.
func Reason(c *metav1.Condition) string { return untrusted.Text(c.Reason, 60) }

// Message returns the message of a condition in a form that is safe for a terminal.
func Message(c *metav1.Condition) string { return untrusted.Text(c.Message, longest) }

// Since returns the reason of a condition, and for how long the condition has had it.
func Since(c *metav1.Condition, times term.Times) string {
	if c.LastTransitionTime.IsZero() {
		return Reason(c)
	}
	return Reason(c) + ", " + times.For(c.LastTransitionTime.Time)
}

// Mark returns the mark of an object with these troubles, at least one.
func Mark(found []metav1.Condition) term.Mark {
	switch first := found[0]; {
	case first.Type != v1alpha1.ConditionReady:
		return term.Warn
	case first.Status == metav1.ConditionUnknown:
		return term.Unknown
	}
	return term.Bad
}
