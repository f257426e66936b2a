package plan

import (
	"math"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// strategy is how an update may disturb the group, with its defaults filled in.
type strategy struct {
	onDelete, paused bool
	resize           v1alpha1.ResizeMode
	// surge is how many VMs there may be above what is wanted, unavailable how many may be missing below.
	surge, unavailable int32
	maxFailures        int
}

func strategyOf(spec *v1alpha1.UpdateStrategy, desired int32) strategy {
	if spec == nil {
		spec = &v1alpha1.UpdateStrategy{}
	}
	s := strategy{
		onDelete: spec.Type == v1alpha1.UpdateOnDelete, paused: spec.Paused, resize: v1alpha1.ResizeRestart,
		surge: 1, maxFailures: max(int(spec.MaxFailures), 1),
	}
	if spec.Resize != "" {
		s.resize = spec.Resize
	}
	percentage, garbage := false, false
	for _, n := range []*intstr.IntOrString{spec.MaxSurge, spec.MaxUnavailable} {
		if n != nil && n.Type == intstr.String {
			percentage, garbage = percentage || isPercentage(*n), garbage || !isPercentage(*n)
		}
	}
	if n := spec.MaxSurge; n != nil {
		s.surge = scaled(*n, desired, true)
	}
	if n := spec.MaxUnavailable; n != nil {
		s.unavailable = scaled(*n, desired, false)
	}
	if s.surge == 0 && s.unavailable == 0 && percentage && !garbage {
		s.unavailable = 1 // as Kubernetes does: a percentage of few VMs is not meant to forbid the update
	}
	return s
}

// isPercentage is true for text that is a percentage.
func isPercentage(n intstr.IntOrString) bool {
	v, err := intstr.GetScaledValueFromIntOrPercent(&n, 100, false)
	return n.Type == intstr.String && err == nil && v >= 0
}

// scaled is a number, or a percentage of what is wanted. What is neither is zero: it allows nothing.
func scaled(n intstr.IntOrString, desired int32, up bool) int32 {
	v, err := intstr.GetScaledValueFromIntOrPercent(&n, int(desired), up)
	if err != nil {
		return 0
	}
	return int32(min(max(v, 0), math.MaxInt32))
}

// budget is how many VMs an update may take away now.
type budget struct {
	// there may be so many fewer VMs. New ones that are not available do not count as VMs: a target that never boots must not eat the older ones.
	there int32
	// available may be so many fewer VMs.
	available int32
}

// budget counts the VMs that do not leave, and are not on their way only. Why one is not available does not matter.
func (p *planner) budget() budget {
	least := max(p.spec.desired-p.spec.update.unavailable, 0)
	b := budget{there: -least, available: -least}
	for _, m := range p.table() {
		switch {
		case m.doomed || !m.exists():
		case m.unstopped: // it may be going down all the same
			b.there++
		case m.status.Available && !p.reconnects(m):
			b.there++
			b.available++
		case p.outdated(m) && !m.status.Updating:
			b.there++
		}
	}
	return b
}

// lend takes an available VM that may be cut off, and stays there. Where none may be missing, one is lent while none is: nothing could be updated else.
func (b *budget) lend(unavailable int32) bool {
	if b.available <= 0 && (unavailable > 0 || b.available < 0) {
		return false
	}
	b.there--
	b.available--
	return true
}

// take reports whether a VM may be taken away, and takes it out of the budget.
func (b *budget) take(available bool) bool {
	if b.there <= 0 || available && b.available <= 0 {
		return false
	}
	b.there--
	if available {
		b.available--
	}
	return true
}

// surge is how many VMs above what is wanted there are to be now: no more than quotas grant. A quota takes none away of those that are there.
func (p *planner) surge() int32 {
	p.roll.lacksQuota = false
	if !p.roll.active() || p.in.Deleting || p.spec.keep || p.spec.desired == 0 || p.ended() {
		return 0
	}
	more := p.rests
	if p.roll.going {
		more = p.adds
	}
	want := more()
	got := max(min(p.in.Surge.VMs, want), min(p.population()-p.spec.desired, want), 0)
	p.roll.lacksQuota = p.roll.going && want > 0 && got == 0
	return got
}

// adds is how many VMs above what is wanted an update that goes on wants. A VM that is restarted while none may be missing is made up for by another,
// that leaves last, or by one that is too many anyway.
func (p *planner) adds() int32 {
	var replaced, restarted int32
	there := p.population() > p.spec.desired
	for _, m := range p.table() {
		switch change := p.change(m); {
		case m.doomed || !m.exists():
		case m.status.Updating || change == changeRestart || (change == changeDenied || change == changeBusy) && there: // who makes up for others leaves last
			restarted++
		case change == changeReplace && p.mayAdd():
			replaced++
		}
	}
	most := p.spec.update.surge
	want := min(replaced, most, p.spec.desired)
	if restarted > 0 && p.spec.update.unavailable == 0 && p.spec.wantOn && (p.mayAdd() || there) {
		want = max(want, min(most, 1))
	}
	return want
}

// rests is how many VMs above what is wanted an update keeps that does not go on, of those that it added: a VM that failed is the evidence, and who was
// lost returns, too. A group that was just scaled down keeps none.
func (p *planner) rests() int32 {
	if p.in.Desired > p.spec.desired {
		return 0
	}
	there := p.population()
	if p.mayAdd() {
		there += p.missed()
	}
	return min(max(there-p.spec.desired, 0), p.spec.update.surge, int32(len(p.surging())))
}

// missed is the number of VMs that are gone, and that others are to make up for.
func (p *planner) missed() int32 {
	n := int32(0)
	for _, m := range p.table() {
		if !m.doomed && p.had(m) != "" {
			n++
		}
	}
	return n
}

// updated is the number of VMs of the target that are there or on their way, and do not leave.
func (p *planner) updated() int32 {
	n := int32(0)
	for _, m := range p.table() {
		if !m.doomed && (m.exists() || m.state == cloning) && m.status.Revision == p.roll.Revision {
			n++
		}
	}
	return n
}

// wanted is the number of VMs that shall be there now.
func (p *planner) wanted() int32 { return p.spec.desired + p.roll.surge }

// mayCome is how many VMs can be cloned beside those that exist, leave, or are being cloned, while an update is under way: up to what quotas grant. A VM
// that leaves counts until it is gone.
func (p *planner) mayCome() int32 {
	if !p.roll.active() {
		return math.MaxInt32
	}
	n := p.spec.desired + min(p.spec.update.surge, max(p.in.Surge.VMs, 0))
	for _, m := range p.table() {
		if m.exists() || m.state == cloning {
			n--
		}
	}
	return max(n, 0)
}
