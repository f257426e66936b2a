package vcenter

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	orphaned "github.com/codeconnect/vmgroup-operator/internal/group/orphans"
)

// releasedVMs returns the condition for VMs that were kept when their group was deleted. It is no alarm, but the VMs run without a
// group.
func releasedVMs(groups []orphaned.Group) condition {
	return condition{v1alpha1.ConditionKeptVMs, metav1.ConditionTrue, v1alpha1.ReasonNotAdopted, fmt.Sprintf(
		"%d VMs were kept when their VmGroups were deleted, and no other has adopted them: %s. The operator does not change these VMs, and they count in quotas. To adopt VMs, create a VmGroup in the namespace that they were of, with the "+
			"annotation %s and the UID of the deleted VmGroup. Delete in vCenter what is not needed; the hub has a receipt for them (kubectl get configmaps -n <namespace of the operator> -l app.kubernetes.io/component=receipt)",
		orphaned.Count(groups), orphaned.Describe(groups), v1alpha1.AdoptAnnotation)}
}
