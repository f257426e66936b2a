package group

import (
	"fmt"
	"math"
	"slices"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// room is how many VMs as large as spec says can be cloned while quotas have not granted what the group asks for: as many as it is short of what was
// admitted, with those that leave or were released, since these count. That they refused it, could not answer, or were not asked is no difference. It is
// false where nothing limits the group.
func (s *Snapshot) room(spec v1alpha1.VmGroupSpec) (n int, limited bool) {
	if s.deleting() {
		return 0, false
	}
	free, taken, z := s.granted(), s.occupied(spec), asked(spec)
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

// limits reports whether a dimension bounds the group at what was admitted. No answer does.
func (a *QuotaAnswer) limits(rule policy.Rule) bool {
	switch {
	case a == nil:
		return true
	case a.Granted || slices.Contains(a.Free, rule):
		return false
	case a.Unavailable != "" || !slices.ContainsFunc(a.Violations, func(v policy.Violation) bool { return v.Enforced }):
		return true
	}
	return slices.ContainsFunc(a.Violations, func(v policy.Violation) bool { return v.Enforced && v.Rule == rule })
}

// occupied is what the group takes, with the VMs that are out of sight.
func (s *Snapshot) occupied(spec v1alpha1.VmGroupSpec) policy.Usage {
	taken := s.taken()
	for _, vm := range s.Group.Status.VMs {
		if s.outOfSight(vm) && !slices.Contains(s.Group.Status.Deleting, vm.Ordinal) { // those that leave are taken already
			taken = taken.Add(sum([]size{s.described(vm.Ordinal).max(asked(spec))}))
		}
	}
	return taken
}

// noRoom says why no VM of a spec is cloned though it was admitted, or is nil. A VM of a group that is complete makes room for its successor.
func (s *Snapshot) noRoom(spec v1alpha1.VmGroupSpec) *plan.Blocker {
	if n, limited := s.room(spec); !limited || n > 0 {
		return nil
	}
	if int64(s.existing()) >= policy.UsageOf(spec).VMs && s.granted().Covers(s.occupied(spec)) {
		return nil
	}
	return &plan.Blocker{Reason: v1alpha1.ReasonQuotaExceeded, Terminal: len(s.leaving) == 0, Message: fmt.Sprintf(
		"Quotas grant the group no more than it was admitted, and that is taken: VMs that leave (%d), were retained (%d), are out of sight, or are larger than spec says count as they are until they are gone",
		len(s.leaving), len(s.released))}
}
