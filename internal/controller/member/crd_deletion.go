package member

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
)

// held takes the counts of groups whose removals are held.
func (c *counts) held(member string, held massdeletion.Held) {
	c.heldGroups, c.heldVMs, c.swept = held.Groups, held.VMs, ""
	if held.SweptGroups > 0 {
		c.swept = fmt.Sprintf("%d VmGroups with %d VMs are deleted because their CRD was deleted in the member. The operator keeps their VMs until you decide about each, also when the CRD exists again. "+
			"In the member, the condition Ready of each VmGroup has the commands with its UID. "+
			"To keep the VMs: kubectl annotate vmgroup NAME -n NAMESPACE --overwrite %s=UID; then a new VmGroup with annotation %s=UID adopts them. "+
			"To destroy the VMs of one VmGroup or of one namespace: set annotation %s of the VmGroup or of the namespace to its own UID. "+
			"To destroy the VMs of all of them, on the hub: %s",
			held.SweptGroups, held.SweptVMs, v1alpha1.ReleaseAnnotation, v1alpha1.AdoptAnnotation, v1alpha1.ConfirmDeletionAnnotation, massdeletion.AllowCommand(member))
	}
}

func sweptMessage(status *v1alpha1.MemberClusterStatus) string {
	if c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionCRDDeletion); c != nil {
		return c.Message
	}
	return ""
}

// setCRDDeletion reports groups that are held because their CRD was deleted.
func setCRDDeletion(status *v1alpha1.MemberClusterStatus, in statusInput) {
	switch {
	case in.counts == nil: // it stays as it was
	case in.counts.swept == "":
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionCRDDeletion)
	default:
		set(status, in, metav1.Condition{Type: v1alpha1.ConditionCRDDeletion, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonRemovalsHeld, Message: in.counts.swept})
	}
}
