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

// Refilled is a required field of an update that has a default of today, and had another value before.
type Refilled struct {
	// Field of the VmGroup, for example spec.cpu.
	Field string
	// Was is the value before, and Default that which a policy of this name gives.
	Was, Default any
	Policy       string
}

// Refilled returns the fields that [Set.DefaultUpdate] may have filled in. Whether it did, or the author wrote the same value, a spec does not tell.
func (s *Set) Refilled(r Requester, old, spec v1alpha1.VmGroupSpec) []Refilled {
	var out []Refilled
	if spec.CPU == old.CPU && spec.Memory == old.Memory && spec.Template == old.Template || absent(&old) {
		return nil
	}
	matching := s.Matching(r)
	out = refilled(out, "spec.cpu", old.CPU, spec.CPU, matching, func(p *Policy) int32 { return p.defaults.CPU })
	out = refilled(out, "spec.memory", old.Memory, spec.Memory, matching, func(p *Policy) int32 { return p.defaults.Memory })
	return refilled(out, "spec.template", old.Template, spec.Template, matching, func(p *Policy) string { return p.defaults.Template })
}

func refilled[T comparable](out []Refilled, field string, was, now T, matching []*Policy, of func(*Policy) T) []Refilled {
	var zero T
	for _, p := range matching {
		if value := of(p); value != zero {
			if value == now && was != now {
				out = append(out, Refilled{Field: field, Was: was, Default: value, Policy: p.name})
			}
			break // the first that has a default gives it
		}
	}
	return out
}

func fill[T comparable](field *T, value T) bool {
	var zero T
	if *field != zero || value == zero {
		return false
	}
	*field = value
	return true
}
