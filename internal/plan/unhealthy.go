package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// NeverRepairs returns a sentence if the percentage in spec.repair.maxUnhealthy rounds to 0 VMs, so that none is ever repaired. It returns "" otherwise, and if spec asks for 0.
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

// unhealthyText formats spec.repair.maxUnhealthy for a person, with the number of VMs that a percentage yields.
func unhealthyText(limit intstr.IntOrString, desired int32) string {
	if !isPercentage(limit) {
		return limit.String()
	}
	return fmt.Sprintf("%s, which is %d of %d", limit.String(), scaled(limit, desired, false), desired)
}
