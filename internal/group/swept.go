package group

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// DefinitionInterval is the maximum age of an answer about the CRD. No event reports the deletion of a CRD, or its confirmation.
const DefinitionInterval = 10 * time.Second

const (
	// sweepLasts is how long after the creation of a CRD older groups can still get a deletionTimestamp because the previous CRD was deleted. An API server deletes the objects
	// of a CRD one after the other. It continues even if the CRD was deleted and exists again meanwhile.
	sweepLasts = 10 * time.Minute
	// clocksDiffer is the maximum difference between the clocks of a member's API servers.
	clocksDiffer = time.Minute
)

// DefinitionAnswer is the result of reading the CRD of a group that is being deleted. The zero value is a CRD that the operator is not allowed to read.
type DefinitionAnswer struct {
	// Definition is the metadata of the CRD, or nil if it does not exist or is unknown.
	Definition metav1.Object
	// Missing is true if the CRD does not exist.
	Missing bool
	// Unread is true if the read failed. It is repeated.
	Unread bool
}

// Going reports whether the CRD is being or was deleted. Its API server then deletes all objects of the kind, bypassing admission.
func (a *DefinitionAnswer) Going() bool {
	return a != nil && (a.Missing || a.Definition != nil && !a.Definition.GetDeletionTimestamp().IsZero())
}

// definition decides whether the CRD must be read before any action for a group that is being deleted.
func (s *Snapshot) definition() Decision {
	switch answer := s.Definition; {
	case !s.deleting(), s.releases(), s.confirmed():
	case answer == nil:
		return Decision{Step: ReadDefinition}
	case answer.Unread:
		return Decision{Step: Wait, After: RetryInterval}
	}
	return Decision{}
}

// swept reports whether the group is deleted because its CRD was deleted, so that its deletion does not show its user's intent. Stored facts alone decide. Status decides, since
// a CRD can come back unchanged. The age of the current CRD also decides, since status can be lost.
func (s *Snapshot) swept() bool {
	answer := s.Definition
	switch {
	case !s.deleting(), s.releases(), s.confirmed():
		return false
	case answer.Going():
		return !s.crdConfirmed()
	case massdeletion.Swept(s.Group):
		return true
	}
	return answer != nil && answer.Definition != nil && s.outlived(answer.Definition)
}

// crdConfirmed reports whether the CRD is being deleted, and this deletion is confirmed.
func (s *Snapshot) crdConfirmed() bool {
	return s.deleting() && s.Definition.Going() && !s.Definition.Missing && v1alpha1.DeletionConfirmed(s.Definition.Definition)
}

// outlived reports whether the group was deleted before this CRD was created, or soon after that if the group is older than this CRD. A group that was created with the CRD, or
// later, was also deleted later, whatever clock wrote its deletionTimestamp.
func (s *Snapshot) outlived(definition metav1.Object) bool {
	created, deleted := s.Group.CreationTimestamp.Time, s.Group.DeletionTimestamp.Time
	if created.After(deleted) {
		deleted = created
	}
	swept := definition.GetCreationTimestamp().Time
	if created.Add(clocksDiffer).Before(swept) {
		swept = swept.Add(sweepLasts)
	}
	return !deleted.After(swept)
}

// sweptHold keeps the VMs of a group that is deleted because its CRD was deleted. It returns nil for any other group.
func (s *Snapshot) sweptHold() *plan.RemovalHold {
	if !s.swept() {
		return nil
	}
	what, again := "its status has recorded that", unwatchedInterval
	ways := []string{"for this VmGroup: " + s.annotate(v1alpha1.ConfirmDeletionAnnotation)}
	if uid := s.MassDeletion.NamespaceUID; uid != "" {
		ways = append(ways, "for all VmGroups of the namespace: "+confirmCommand("namespace", s.Group.Namespace, uid))
	}
	switch answer := s.Definition; {
	case answer == nil:
	case answer.Missing:
		what, again = "the CRD does not exist", DefinitionInterval
	case answer.Going():
		what, again = "the CRD is being deleted", DefinitionInterval
		ways = append(ways, "for all VmGroups of this cluster: "+confirmCommand("crd", answer.Definition.GetName(), string(answer.Definition.GetUID())))
	case answer.Definition != nil && s.outlived(answer.Definition):
		what = "the CRD that exists now was created later, or a moment before"
	}
	ways = append(ways, "for all VmGroups of this cluster, by a hub administrator on the hub: "+massdeletion.AllowCommand(s.Member))
	return &plan.RemovalHold{Until: s.Now.Add(again), Blocker: plan.Blocker{Reason: v1alpha1.ReasonCRDTerminating, Terminal: true, Message: fmt.Sprintf(
		"this VmGroup is deleted because its CRD was deleted (%s). The operator keeps its VMs and does nothing with them until you decide. "+
			"To keep the VMs and let a new VmGroup adopt them: %s. To destroy the VMs: %s%s", what, s.toKeep(), strings.Join(ways, "; "), s.confirmsNothing())}}
}

func confirmCommand(kind, name, uid string) string {
	return fmt.Sprintf("kubectl annotate %s %s --overwrite %s=%s", kind, name, v1alpha1.ConfirmDeletionAnnotation, uid)
}

// setSwept records that the group is deleted because its CRD was deleted, even while its VMs are unknown: neither a takeover nor a new CRD ends that.
func setSwept(s *v1alpha1.VmGroupStatus, f Facts) {
	meta.SetStatusCondition(&s.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionRemoving, Status: metav1.ConditionTrue, Reason: f.Swept.Reason, Message: untrusted.Text(f.Swept.Message, maxCondition),
		ObservedGeneration: f.Generation, LastTransitionTime: metav1.NewTime(f.Now.Truncate(time.Second)),
	})
}
