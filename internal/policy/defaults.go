package policy

import (
	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// Default fills in what the spec of a new group leaves out: spec.cpu, spec.memory, spec.template and spec.vcenter
// where they are zero. Of several policies the first that has a default gives it. filled names the fields that were
// set. An object without any spec is left alone: nothing is made for it.
func (s *Set) Default(r Requester, spec *v1alpha1.VmGroupSpec) (filled []string) {
	if absent(spec) {
		return nil
	}
	filled = s.fillRequired(r, spec)
	for _, p := range s.Matching(r) {
		if fill(&spec.VCenter, p.defaults.VCenter) {
			filled = append(filled, "spec.vcenter")
		}
	}
	return filled
}

// DefaultUpdate fills in what an update took away. The required fields come from policies, as for a new group.
// spec.vcenter does not: VMs do not move between vCenters, so a group keeps the one that it has, also when that is
// none by name.
func (s *Set) DefaultUpdate(r Requester, old v1alpha1.VmGroupSpec, spec *v1alpha1.VmGroupSpec) (filled []string) {
	if absent(spec) {
		return nil
	}
	filled = s.fillRequired(r, spec)
	if fill(&spec.VCenter, old.VCenter) {
		filled = append(filled, "spec.vcenter")
	}
	return filled
}

// fillRequired fills in what the schema does not accept without a value.
func (s *Set) fillRequired(r Requester, spec *v1alpha1.VmGroupSpec) (filled []string) {
	if spec.CPU != 0 && spec.Memory != 0 && spec.Template != "" {
		return nil
	}
	matching := s.Matching(r)
	for _, p := range matching {
		if fill(&spec.CPU, p.defaults.CPU) {
			filled = append(filled, "spec.cpu")
		}
	}
	for _, p := range matching {
		if fill(&spec.Memory, p.defaults.Memory) {
			filled = append(filled, "spec.memory")
		}
	}
	for _, p := range matching {
		if fill(&spec.Template, p.defaults.Template) {
			filled = append(filled, "spec.template")
		}
	}
	return filled
}

func fill[T comparable](field *T, value T) bool {
	var zero T
	if *field != zero || value == zero {
		return false
	}
	*field = value
	return true
}
