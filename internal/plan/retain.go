package plan

import (
	"fmt"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// mayAdd is true if an update can clone a VM above the wanted number, because it can destroy one at its end. With deletionPolicy Retain, each update would leave one VM behind:
// powered on, without an owner, and counted by quotas until a person deletes it.
func (p *planner) mayAdd() bool { return p.spec.policy == v1alpha1.DeletionDelete }

// Unavailable returns how many VMs can be missing during an update of a group.
func Unavailable(spec v1alpha1.VmGroupSpec) int32 {
	wanted, _ := Wanted(spec)
	return strategyOf(spec.UpdateStrategy, wanted).unavailable
}

// retained reports an update that can continue only by restarts, and can neither take a VM away nor add one. ok is false for any other update.
func (p *planner) retained(counts string, others int) (u Update, ok bool) {
	restarts := 0
	for _, m := range p.table() {
		if !m.doomed && (!m.status.Updating || m.unstopped) && p.change(m) == changeRestart {
			restarts++
		}
	}
	if restarts == 0 || restarts < others || p.mayAdd() || p.spec.update.unavailable > 0 || p.roll.surge > 0 {
		return u, false
	}
	return Update{v1alpha1.ReasonRetainForbidsReplacement, fmt.Sprintf("%s; the others have to be restarted, and no VM may be missing meanwhile "+
		"(spec.updateStrategy.maxUnavailable). No other VM makes up for them, since spec.deletionPolicy Retain could not destroy it at the end: %s. "+
		"Set spec.updateStrategy.maxUnavailable to 1 to have them restarted one after the other, or set spec.updateStrategy.type to OnDelete to leave them as they are.",
		counts, enumerate(p.plan.Outdated))}, true
}
