package vcenter

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// strayVMs returns the condition about VMs with this installation's stamp outside of the root folder. Without a finding it has no reason. Before the first
// search, known is false: the earlier condition then stays.
func strayVMs(found vsphere.Strays) (c condition, known bool) {
	if found.At.IsZero() {
		return condition{}, false
	}
	limits := ""
	if found.Limits != "" {
		limits = fmt.Sprintf(" There may be more: %s.", found.Limits)
	}
	switch {
	case found.Count > 0:
		names := make([]string, len(found.VMs))
		for i, vm := range found.VMs {
			names[i] = fmt.Sprintf("%s (%s)", vm.Ref.Value, untrusted.Quoted(vm.Path))
		}
		if more := found.Count - len(found.VMs); more > 0 {
			names = append(names, fmt.Sprintf("and %d more", more))
		}
		return condition{v1alpha1.ConditionStrayVMs, metav1.ConditionTrue, v1alpha1.ReasonOutsideOfRoot, fmt.Sprintf(
			"%d VMs carry this installation's stamp and are outside of the operator's root folder, where it touches nothing: %s. They are copies (backup, replication, a template "+
				"that was made of a VM), or VMs that a user moved or registered again. Where a VmGroup says VMsLost, move its VM back. Of each other one make sure that it does not run with the name and the "+
				"addresses of a VM of a group; delete it, or remove vmgroup.owner from its advanced configuration.%s", found.Count, strings.Join(names, ", "), limits)}, true
	case limits != "":
		return condition{v1alpha1.ConditionStrayVMs, metav1.ConditionUnknown, v1alpha1.ReasonNotLookedEverywhere, fmt.Sprintf(
			"No VM that the operator's account may see carries this installation's stamp outside of the operator's root folder.%s Grant it the role Read-only on the vCenter's root folder, with propagation, to have copies named that run elsewhere.", limits)}, true
	}
	return condition{}, true
}
