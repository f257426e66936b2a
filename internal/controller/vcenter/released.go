package vcenter

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// releasedVMs tells of VMs that somebody kept when their group was deleted. That is no alarm; but they run, and nobody looks after them.
func releasedVMs(names []string) condition {
	named := strings.Join(names[:min(len(names), maxOrphans)], ", ")
	if more := len(names) - maxOrphans; more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	return condition{v1alpha1.ConditionReleasedVMs, metav1.ConditionTrue, v1alpha1.ReasonNotAdopted, fmt.Sprintf(
		"%d VMs were kept when their VmGroups were deleted, and no other has adopted them: %s. A folder's path ends with the member, the namespace and the group. Nobody touches these VMs, and they count in quotas. "+
			"Adopt them with a new VmGroup, or delete in vCenter what is not needed; the hub has a receipt for them (kubectl get configmaps -n <namespace of the operator> -l app.kubernetes.io/component=receipt)", len(names), named)}
}
