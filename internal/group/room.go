package group

import (
	"fmt"
	"math"
	"slices"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// room is how many VMs as large as spec says can be cloned while quotas refuse the group more: as many as it is short of what was admitted, with those that
// leave or were released, since these count. It is false where no quota refuses anything.
func (s *Snapshot) room(spec v1alpha1.VmGroupSpec) (n int, limited bool) {
	if s.deleting() || s.Quota == nil {
		return 0, false
	}
	counts := func(rule policy.Rule) bool {
		for _, v := range s.Quota.Violations {
			if v.Enforced && v.Rule == rule {
				return true
			}
		}
		return s.Quota.Unavailable != ""
	}
	free, taken, z := s.granted(), s.taken(), asked(spec)
	for _, vm := range s.Group.Status.VMs {
		if s.outOfSight(vm) && !slices.Contains(s.Group.Status.Deleting, vm.Ordinal) { // those that leave are taken already
			taken = taken.Add(sum([]size{s.described(vm.Ordinal).max(z)}))
		}
	}
	room := int64(math.MaxInt32)
	for _, d := range []struct {
		rule             policy.Rule
		free, taken, one int64
	}{
		{policy.RuleQuotaVMs, free.VMs, taken.VMs, 1}, {policy.RuleQuotaCPU, free.CPU, taken.CPU, z.cpu}, {policy.RuleQuotaMemory, free.Memory, taken.Memory, z.memory},
	} {
		if counts(d.rule) {
			room, limited = min(room, max(0, d.free-d.taken)/max(1, d.one)), true
		}
	}
	return int(room), limited
}

// noRoom says why no VM of a spec is cloned though it was admitted, or is nil.
func (s *Snapshot) noRoom(spec v1alpha1.VmGroupSpec) *plan.Blocker {
	if n, limited := s.room(spec); !limited || n > 0 {
		return nil
	}
	return &plan.Blocker{Reason: v1alpha1.ReasonQuotaExceeded, Terminal: len(s.leaving) == 0, Message: fmt.Sprintf(
		"Quotas grant the group no more VMs than it has: %d leave and %d were released, and these count until they are gone", len(s.leaving), len(s.released))}
}
