package vmgroup

import (
	"slices"

	"github.com/codeconnect/vmgroup-operator/internal/plan"
)

// compute is plan.Compute, also for a group that is held at fewer VMs than spec asks for. It may have more of them than was
// admitted: it was scaled down and up again while it was paused or vCenter was away. A hold only keeps a group from
// growing, so VMs that spec wants stay; what is lost of them comes back as far as it was admitted. in.Spec.Replicas becomes
// what is planned with.
func (p *pass) compute(in *plan.Input) plan.Plan {
	wanted := int32(1)
	if n := p.group.Spec.Replicas; n != nil {
		wanted = *n
	}
	for {
		decided := plan.Compute(*in)
		if !p.hold.Held || in.Spec.Replicas == nil || *in.Spec.Replicas >= wanted {
			return decided
		}
		leaving := int32(0)
		for _, ordinal := range decided.Doomed {
			if !slices.Contains(in.Doomed, ordinal) {
				leaving++
			}
		}
		if leaving == 0 {
			return decided
		}
		in.Spec.Replicas = new(min(wanted, *in.Spec.Replicas+leaving))
	}
}
