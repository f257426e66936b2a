package plan

import (
	"math"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// strategy holds spec.updateStrategy with its defaults.
type strategy struct {
	onDelete, paused bool
	resize           v1alpha1.ResizeMode
	// surge is the number of VMs that can exist above the wanted number. unavailable is the number that can be missing below it.
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
		s.unavailable = 1 // as in Kubernetes: a percentage of few VMs is not meant to forbid the update
	}
	return s
}

// isPercentage is true for text that is a percentage.
func isPercentage(n intstr.IntOrString) bool {
	v, err := intstr.GetScaledValueFromIntOrPercent(&n, 100, false)
	return n.Type == intstr.String && err == nil && v >= 0
}

// scaled returns a number, or a percentage of the wanted number. Other text yields 0 and allows nothing.
func scaled(n intstr.IntOrString, desired int32, up bool) int32 {
	v, err := intstr.GetScaledValueFromIntOrPercent(&n, int(desired), up)
	if err != nil {
		return 0
	}
	return int32(min(max(v, 0), math.MaxInt32))
}

// budget is the number of VMs that an update can take away now.
type budget struct {
	// there is how many fewer VMs can exist. New VMs that are not available do not count, so that a target that never boots does not use up the older VMs.
	there int32
	// available is how many fewer VMs can be available.
	available int32
}

// budget counts the VMs that exist and do not leave. The reason why a VM is not available does not matter.
func (p *planner) budget() budget {
	least := max(p.spec.desired-p.spec.update.unavailable, 0)
	b := budget{there: -least, available: -least}
	for _, m := range p.table() {
		switch {
		case m.doomed || !m.exists():
		case m.unstopped: // the VM can still be shutting down
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

// lend reserves an available VM that stays but that a change can disconnect. If spec allows no missing VM, lend still reserves one while none is missing: otherwise no VM could
// be updated.
func (b *budget) lend(unavailable int32) bool {
	if b.available <= 0 && (unavailable > 0 || b.available < 0) {
		return false
	}
	b.there--
	b.available--
	return true
}

// take reports whether a VM can be taken away, and deducts it from the budget.
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

// surge returns the number of VMs that are wanted above the desired number now, at most what quotas grant. A quota removes no VM that exists.
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

// adds returns the number of surge VMs that a running update wants. If spec allows no missing VM, one surge VM makes up for a VM that is restarted. It is an added VM, which
// leaves last, or an existing surplus VM.
func (p *planner) adds() int32 {
	var replaced, restarted int32
	there := p.population() > p.spec.desired
	for _, m := range p.table() {
		switch change := p.change(m); {
		case m.doomed || !m.exists():
		case m.status.Updating || change == changeRestart || (change == changeDenied || change == changeBusy) && there: // the VM that makes up for others leaves last
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

// rests returns the number of its surge VMs that an update keeps while it does not run. A failed VM is evidence, and a lost VM returns, too. A group that was just scaled down
// keeps none.
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

// missed returns the number of deleted VMs that the group must replace.
func (p *planner) missed() int32 {
	n := int32(0)
	for _, m := range p.table() {
		if !m.doomed && p.had(m) != "" {
			n++
		}
	}
	return n
}

// updated returns the number of target VMs that exist or are being cloned, and do not leave.
func (p *planner) updated() int32 {
	n := int32(0)
	for _, m := range p.table() {
		if !m.doomed && (m.exists() || m.state == cloning) && m.status.Revision == p.roll.Revision {
			n++
		}
	}
	return n
}

// wanted returns the number of VMs that must exist now.
func (p *planner) wanted() int32 { return p.spec.desired + p.roll.surge }

// mayCome returns how many more VMs can be cloned during an update, up to what quotas grant. VMs that exist, leave, or are being cloned count. A VM that leaves counts until it
// is deleted.
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
