package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// halfMade returns the VMs that another process's clone is possibly making, by the ordinals whose names they have. Each counts as a clone in flight: the VM can be the group's,
// and its name is taken in any case.
func halfMade(in *Input) map[int32]vsphere.HalfMade {
	half := map[int32]vsphere.HalfMade{}
	for _, vm := range in.Observation.HalfMade {
		if ordinal, ok := ordinalOf(in.Name, vm.Name); ok && vm.Folder == in.Folder {
			half[ordinal] = vm
		}
	}
	return half
}

// ordinals returns the ordinals that have an operation in flight, sorted.
func (o operations) ordinals() []int32 {
	ordinals := make([]int32, 0, len(o.inFlight)+len(o.halfMade))
	for ordinal := range o.inFlight {
		ordinals = append(ordinals, ordinal)
	}
	for ordinal := range o.halfMade {
		ordinals = append(ordinals, ordinal)
	}
	slices.Sort(ordinals)
	return slices.Compact(ordinals)
}

// explainHalfMade names the clone that a VM waits for. If the clone runs for long, it also names the remedy.
func (p *planner) explainHalfMade(m *member) {
	half, ok := p.ops.halfMade[m.status.Ordinal]
	if !ok || m.state != cloning {
		return
	}
	why := fmt.Sprintf("vCenter shows %s without a stamp, and a clone that runs since %s may be making it (%s)", half.Ref.Value, half.Since.UTC().Format(time.RFC3339), half.Task)
	if long := half.Since.Add(vsphere.HangsAfter); p.in.Now.Before(long) {
		p.wake(long)
		m.status.Message = joined(m.status.Message, why)
		return
	}
	m.hangs(why + lookAtTask)
}
