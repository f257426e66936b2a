package group

import (
	"fmt"
	"math"
	"slices"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// room is how many VMs as large as spec says can be cloned: what quotas have granted, less what the group takes with those that leave or were released,
// since these count. A refusal, no answer, and no question grant no more than what was admitted. It is false where nothing limits the group. p is the plan that wants
// the clones, or nil: what it knows to be no VM of the group is not claimed by a spec that is granted, and takes none of its room.
func (s *Snapshot) room(spec v1alpha1.VmGroupSpec, p *plan.Plan) (n int, limited bool) {
	if s.deleting() {
		return 0, false
	}
	free, taken, z := s.allowed(), s.occupied(spec), asked(spec)
	if p != nil && s.grants() {
		copies := s.copies(p, z)
		taken.VMs, taken.CPU, taken.Memory = taken.VMs-copies.VMs, taken.CPU-copies.CPU, taken.Memory-copies.Memory
	}
	room := int64(math.MaxInt32)
	for _, d := range []struct {
		rule             policy.Rule
		free, taken, one int64
	}{
		{policy.RuleQuotaVMs, free.VMs, taken.VMs, 1}, {policy.RuleQuotaCPU, free.CPU, taken.CPU, z.cpu}, {policy.RuleQuotaMemory, free.Memory, taken.Memory, z.memory},
	} {
		if s.Quota.limits(d.rule) {
			room, limited = min(room, max(0, d.free-d.taken)/max(1, d.one)), true
		}
	}
	return int(room), limited
}

// within is a plan without the clones for which there is no room.
func (s *Snapshot) within(spec v1alpha1.VmGroupSpec, p plan.Plan) plan.Plan {
	if p.Creates() == 0 {
		return p
	}
	if n, limited := s.room(spec, &p); limited {
		return p.Limit(n, p.Tasks())
	}
	return p
}

// grants reports whether quotas have granted what the group asks for.
func (s *Snapshot) grants() bool { return s.Quota != nil && s.Quota.Granted }

// allowed is what the group may take: what was admitted and, where quotas granted it, what it asks for, with the VMs that they let an update add.
func (s *Snapshot) allowed() policy.Usage {
	u := s.granted()
	if !s.grants() || s.takesOver() { // for a group that takes VMs over, only what it has was asked
		return u
	}
	u = u.Max(s.wants())
	if surges := s.surges(); s.Quota.Surge > 0 && len(surges) > 0 {
		u = u.Max(surges[min(int(s.Quota.Surge), len(surges))-1])
	}
	return u
}

// limits reports whether a dimension bounds the group. No answer does, and so does a quota that grants.
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

// occupied is what the group takes, with the VMs that are out of sight. Where spec is granted, its size counts, and not the one that was admitted before.
func (s *Snapshot) occupied(spec v1alpha1.VmGroupSpec) policy.Usage {
	taken := s.taken()
	if s.grants() {
		taken = s.counted(asked(spec))
	}
	for _, vm := range s.Group.Status.VMs {
		if s.outOfSight(vm) && !slices.Contains(s.Group.Status.Deleting, vm.Ordinal) { // those that leave are taken already
			taken = taken.Add(sum([]size{s.described(vm.Ordinal).max(asked(spec))}))
		}
	}
	return taken
}

// copies is what VMs take, each at least of a size, that carry the group's stamp and are none of its VMs: people copied them, or they came back after others had replaced them.
func (s *Snapshot) copies(p *plan.Plan, least size) policy.Usage {
	own := make(map[int32]bool, len(p.VMs))
	for i := range p.VMs {
		own[p.VMs[i].Ordinal] = true
	}
	var all []size
	for ordinal, z := range s.sizes {
		if !own[ordinal] {
			all = append(all, z.max(least))
		}
	}
	return sum(all)
}

// noRoom says why no VM of a spec is cloned though it was admitted, or is nil. A VM of a group that is complete makes room for its successor, and an update that
// was granted waits for those that leave.
func (s *Snapshot) noRoom(spec v1alpha1.VmGroupSpec) *plan.Blocker {
	if s.grants() {
		return nil
	}
	if n, limited := s.room(spec, nil); !limited || n > 0 {
		return nil
	}
	if int64(s.existing()) >= policy.UsageOf(spec).VMs && s.granted().Covers(s.occupied(spec)) {
		return nil
	}
	return &plan.Blocker{Reason: v1alpha1.ReasonQuotaExceeded, Terminal: len(s.leaving) == 0, Message: fmt.Sprintf(
		"Quotas grant the group no more than it was admitted, and that is taken: VMs that leave (%d), were retained (%d), are out of sight, or are larger than spec says count as they are until they are gone",
		len(s.leaving), len(s.released))}
}
