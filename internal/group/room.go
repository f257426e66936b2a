package group

import (
	"fmt"
	"math"
	"slices"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// room returns how many VMs of the size of spec can be cloned. It is the quota grant, minus the usage of the group, including VMs that leave or were released. If quotas refused,
// did not answer, or were not asked, the admitted usage is the limit. limited is false if nothing limits the group. p is the plan that wants the clones, or nil: VMs that it
// knows as copies are not part of the claim of a granted spec, and use none of its room.
func (s *Snapshot) room(spec v1alpha1.VmGroupSpec, p *plan.Plan) (n int, limited bool) {
	if s.deleting() {
		return 0, false
	}
	free, taken, z := s.allowed(), s.occupied(spec), asked(spec)
	if p != nil && s.grants() {
		taken = taken.Minus(s.copies(p, &spec))
	}
	room := int64(math.MaxInt32)
	for _, d := range s.Quota.dimensions(free, taken, z.usage()) {
		if d.one > 0 {
			room, limited = min(room, max(0, d.free-d.taken)/d.one), true
		}
	}
	return int(room), limited
}

// dimension is one that limits a group: the usage that it can have, that it has, and that of one more VM.
type dimension struct {
	rule             policy.Rule
	free, taken, one int64
}

// dimensions returns those that limit the group.
func (a *QuotaAnswer) dimensions(free, taken, one policy.Usage) []dimension {
	return slices.DeleteFunc([]dimension{
		{policy.RuleQuotaVMs, free.VMs, taken.VMs, one.VMs}, {policy.RuleQuotaCPU, free.CPU, taken.CPU, one.CPU},
		{policy.RuleQuotaMemory, free.Memory, taken.Memory, one.Memory}, {policy.RuleQuotaStorage, free.Storage, taken.Storage, one.Storage},
	}, func(d dimension) bool { return !a.limits(d.rule) })
}

// within returns the plan without the clones for which there is no room.
func (s *Snapshot) within(spec v1alpha1.VmGroupSpec, p plan.Plan) plan.Plan {
	if p.Creates() == 0 {
		return p
	}
	if n, limited := s.room(spec, &p); limited {
		return p.Limit(n, p.Tasks())
	}
	return p
}

// grants reports whether quotas have granted the group's claim.
func (s *Snapshot) grants() bool { return s.Quota != nil && s.Quota.Granted }

// allowed returns the usage that the group can have: the admitted one and, if quotas granted it, the claimed one with the surge VMs that they granted.
func (s *Snapshot) allowed() policy.Usage {
	u := s.granted()
	if !s.grants() || s.takesOver() { // a group that adopts VMs claimed only its current usage
		return u
	}
	u = u.Max(s.wants())
	if surges := s.surges(); s.Quota.Surge > 0 && len(surges) > 0 {
		u = u.Max(surges[min(int(s.Quota.Surge), len(surges))-1])
	}
	return u
}

// limits reports whether a dimension limits the group. A missing answer limits every dimension. A grant limits every dimension that is not free.
func (a *QuotaAnswer) limits(rule policy.Rule) bool {
	switch {
	case a == nil:
		return true
	case slices.Contains(a.Free, rule):
		return false
	case a.Granted, a.Unavailable != "", !slices.ContainsFunc(a.Violations, func(v policy.Violation) bool { return v.Enforced }):
		return true
	}
	return slices.ContainsFunc(a.Violations, func(v policy.Violation) bool { return v.Enforced && v.Rule == rule })
}

// occupied returns the usage of the group, including hidden VMs. If spec is granted, its size counts instead of the earlier admitted one.
func (s *Snapshot) occupied(spec v1alpha1.VmGroupSpec) policy.Usage {
	taken := s.taken()
	if s.grants() {
		taken = s.counted(&spec)
	}
	replaced := s.replacedBy(&spec)
	for _, vm := range s.Group.Status.VMs {
		if s.outOfSight(vm) && !slices.Contains(s.Group.Status.Deleting, vm.Ordinal) { // VMs that leave are counted already
			taken = taken.Add(sum([]size{s.described(vm.Ordinal).becomes(asked(spec), replaced[vm.Ordinal])}))
		}
	}
	return taken
}

// copies returns the usage of VMs with the group's stamp that are not its VMs, as counted counts them. They are manual copies, or came back after their replacement.
func (s *Snapshot) copies(p *plan.Plan, spec *v1alpha1.VmGroupSpec) policy.Usage {
	own := make(map[int32]bool, len(p.VMs))
	for i := range p.VMs {
		own[p.VMs[i].Ordinal] = true
	}
	var all []size
	least, replaced := asked(*spec), s.replacedBy(spec)
	for ordinal, z := range s.sizes {
		if !own[ordinal] {
			all = append(all, z.becomes(least, replaced[ordinal]))
		}
	}
	return sum(all)
}

// noRoom explains why no VM of an admitted spec is cloned, or returns nil. In a complete group, a VM makes room for its successor. A granted update waits for the VMs that leave.
func (s *Snapshot) noRoom(spec v1alpha1.VmGroupSpec) *plan.Blocker {
	if s.grants() {
		return nil
	}
	if n, limited := s.room(spec, nil); !limited || n > 0 {
		return nil
	}
	exceeded := func(d dimension) bool { return d.taken > d.free }
	if int64(s.existing()) >= policy.UsageOf(spec).VMs && !slices.ContainsFunc(s.Quota.dimensions(s.granted(), s.occupied(spec), policy.Usage{}), exceeded) {
		return nil
	}
	return &plan.Blocker{Reason: v1alpha1.ReasonQuotaExceeded, Terminal: len(s.leaving) == 0, Message: fmt.Sprintf(
		"Quotas grant the group no more than it was admitted, and that is taken: VMs that leave (%d), were retained (%d), are out of sight, or are larger than spec count as they are until they are deleted",
		len(s.leaving), len(s.released))}
}
