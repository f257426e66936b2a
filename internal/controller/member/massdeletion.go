package member

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
)

// setMassDeletion tells how much is held.
func setMassDeletion(status *v1alpha1.MemberClusterStatus, in statusInput) {
	if status.HeldGroups == 0 {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionMassDeletion)
		return
	}
	set(status, in, metav1.Condition{
		Type: v1alpha1.ConditionMassDeletion, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonRemovalsHeld, Message: fmt.Sprintf(
			"%d VMs of %d VmGroups are to be removed and are held, because so many at once may be an accident; each group says how its own go on. "+
				"To let all of them pass: %s", status.HeldVMs, status.HeldGroups, massdeletion.AllowCommand(in.name)),
	})
}
