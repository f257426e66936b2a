package group

import (
	"fmt"
	"strconv"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// Paused returns who paused a group, or nil if it is not paused.
//
// The annotation fails safe: a user who misspells the value in an incident wants the group to be held. Only a false or empty value does not pause.
func Paused(group *v1alpha1.VmGroup, member string, memberPaused bool) *plan.Blocker {
	annotation := group.Annotations[v1alpha1.PausedAnnotation]
	annotated, err := strconv.ParseBool(annotation)
	switch {
	case group.Spec.Paused:
		return &plan.Blocker{Reason: v1alpha1.ReasonPaused, Message: "spec.paused is true: nothing is done until it is set to false"}
	case annotation != "" && (annotated || err != nil):
		return &plan.Blocker{Reason: v1alpha1.ReasonPaused, Message: fmt.Sprintf("annotation %s is %q: nothing is done until it is removed or set to \"false\"",
			v1alpha1.PausedAnnotation, untrusted.Text(annotation, 40))}
	case memberPaused:
		return &plan.Blocker{Reason: v1alpha1.ReasonMemberPaused, Message: fmt.Sprintf("MemberCluster %q is paused on the hub: nothing is done until it is resumed", member)}
	}
	return nil
}
