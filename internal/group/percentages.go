package group

import (
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// HasPercentages reports whether spec has a percentage where releases of before took numbers only. Such a release can decode no list of groups with one.
func HasPercentages(spec *v1alpha1.VmGroupSpec) bool {
	percentage := func(n *intstr.IntOrString) bool { return n != nil && n.Type == intstr.String }
	u, r := spec.UpdateStrategy, spec.Repair
	return u != nil && (percentage(u.MaxSurge) || percentage(u.MaxUnavailable)) || r != nil && percentage(r.MaxUnhealthy)
}
