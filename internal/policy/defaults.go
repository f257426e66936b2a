package policy

import (
	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// Default fills in missing fields in the spec of a new group: spec.cpu, spec.memory, spec.template and spec.vcenter if they are zero, and
// spec.disks.root if it is absent and the VMs are full clones. Of several policies, the first with a default sets the field. filled names the fields that were set. An object without any spec is not changed, because the
// operator creates nothing for it.
func (s *Set) Default(r Requester, spec *v1alpha1.VmGroupSpec) (filled []string) {
	if absent(spec) {
		return nil
	}
	filled = s.fillRequired(r, spec)
	for _, p := range s.Matching(r) {
		if fill(&spec.VCenter, p.defaults.VCenter) {
			filled = append(filled, "spec.vcenter")
		}
		if SizesRootDisk(spec) && p.defaults.Disk != 0 {
			disks := v1alpha1.Disks{Root: &v1alpha1.RootDisk{SizeGiB: p.defaults.Disk}}
			if spec.Disks != nil {
				disks.Data = spec.Disks.Data
			}
			spec.Disks = &disks
			filled = append(filled, rootDiskField)
		}
	}
	return filled
}

// SizesRootDisk reports whether a default can set the size of the root disk: spec does not state it, and asks for full clones. A size would turn linked
// clones, which LinkedPreferred prefers, into full ones.
func SizesRootDisk(spec *v1alpha1.VmGroupSpec) bool {
	return (spec.Disks == nil || spec.Disks.Root == nil) && (spec.CloneMode == "" || spec.CloneMode == v1alpha1.CloneFull)
}

// DefaultUpdate fills in fields that an update removed. The required fields come from policies, as for a new group. spec.vcenter comes from the old
// spec, also if it was empty: VMs do not move between vCenters, so a group keeps its vCenter. The size of the root disk is not filled in: to lower it,
// a user removes it first.
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

// fillRequired fills in the fields that the schema requires.
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

// Refilled is a required field whose new value in an update equals a current default, and differs from the old value.
type Refilled struct {
	// Field of the VmGroup, for example spec.cpu.
	Field string
	// Was is the old value. Default is the value that the policy of this name sets.
	Was, Default any
	Policy       string
}

// Refilled returns the fields that [Set.DefaultUpdate] possibly filled in. A spec does not show whether the author wrote the same value.
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
			break // the first policy with a default sets the field
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
