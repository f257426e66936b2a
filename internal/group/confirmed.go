package group

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
)

// DefinitionInterval is when to look again at a CRD that is being deleted: no event tells that somebody confirmed that.
const DefinitionInterval = 10 * time.Second

// DefinitionAnswer is what became of looking at the CRD of a group that is deleted. While a CRD is deleted, its API server deletes all
// objects of the kind, past all admission, so that a group's deletion says nothing about what anybody wants.
type DefinitionAnswer struct {
	// Going is true while the CRD is being deleted, or is gone. The zero value is a CRD that stays, or one that the operator may not read.
	Going bool
	// Definition is its metadata, nil when it is gone.
	Definition metav1.Object
	// Unread is true when it could not be looked at now.
	Unread bool
}

// meant decides whether the deletion of the group is what somebody asked for.
func (s *Snapshot) meant() Decision {
	switch answer := s.Definition; {
	case !s.deleting() || v1alpha1.DeletionConfirmed(s.Group) || s.releases():
	case answer == nil:
		return Decision{Step: LookAtDefinition}
	case answer.Unread:
		return Decision{Step: Wait, After: RetryInterval}
	case answer.Going && (answer.Definition == nil || !v1alpha1.DeletionConfirmed(answer.Definition)):
		return s.blocked(s.swept(answer.Definition), DefinitionInterval)
	}
	return Decision{}
}

// swept says why the VMs of the group are kept though it is deleted.
func (s *Snapshot) swept(definition metav1.Object) plan.Blocker {
	confirm := func(what, name string, object metav1.Object) string {
		return fmt.Sprintf("kubectl annotate %s %s --overwrite %s=%s", what, name, v1alpha1.ConfirmDeletionAnnotation, object.GetUID())
	}
	message := fmt.Sprintf("this VmGroup is deleted because its CRD was deleted, so its VMs are kept and nothing is done with them. "+
		"If they shall go: %s -n %s", confirm("vmgroup", s.Group.Name, s.Group), s.Group.Namespace)
	if definition != nil {
		message += "; if those of all VmGroups of this cluster shall go: " + confirm("crd", definition.GetName(), definition)
	}
	message += fmt.Sprintf(". If they shall be kept for good: %s; install the CRD again when it is gone, and adopt them with a new VmGroup%s", s.toKeep(), s.keepsNothing())
	return plan.Blocker{Reason: v1alpha1.ReasonCRDTerminating, Terminal: true, Message: message}
}
