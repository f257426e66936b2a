package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// NeverRepairs says in a sentence that the percentage in spec.repair.maxUnhealthy is of so few VMs that it lets none be repaired. Empty where it does not,
// or where 0 is what somebody asked for.
func NeverRepairs(spec v1alpha1.VmGroupSpec) string {
	n, known := Wanted(spec)
	if spec.Repair == nil || spec.Repair.MaxUnhealthy == nil || !known || n == 0 {
		return ""
	}
	limit := *spec.Repair.MaxUnhealthy
	if limit.Type != intstr.String || scaled(limit, n, false) > 0 || scaled(limit, 100, false) == 0 {
		return ""
	}
	return fmt.Sprintf("spec.repair.maxUnhealthy: %s of %s is 0, so no VM is ever repaired, and updates wait while one needs repair; "+
		"set it to a number, or to %d%% or more", limit.String(), vms(int(n)), (100+n-1)/n)
}

// unhealthyText is spec.repair.maxUnhealthy for a person, with the number that a percentage stands for.
func unhealthyText(limit intstr.IntOrString, desired int32) string {
	if !isPercentage(limit) {
		return limit.String()
	}
	return fmt.Sprintf("%s, which is %d of %d", limit.String(), scaled(limit, desired, false), desired)
}
