package plan

import (
	"fmt"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// power brings VMs to spec.powerState. A new VM is started after its clone. A suspended VM, or a VM that was ready and is off, was changed from outside: its power-on is a repair
// and obeys spec.repair. A power-off is never a repair. It makes no difference whether the VM was powered on from outside or spec changed.
func (p *planner) power() {
	if p.spec.keep || p.in.Deleting {
		return // spec does not define what is wanted, or no longer counts
	}
	var unreachable, observed []*member
	for _, m := range p.table() {
		switch {
		case m.doomed || m.state != present:
		case !m.vm.Connected():
			unreachable = append(unreachable, m)
		case m.changes:
		case !p.spec.wantOn:
			p.powerOff(m)
		case m.wrongPower && (p.spec.observe || p.repairHeld):
			observed = append(observed, m)
		case m.wrongPower:
			p.plan.Repairing = true
			reason := "it was powered off from outside"
			if m.vm.Power == vsphere.Suspended {
				reason = "it was suspended from outside"
			}
			p.try(m, Action{Kind: PowerOnVM, Reason: reason})
		case m.vm.Power == vsphere.PoweredOff:
			reason := "it was cloned"
			if m.known != nil && m.known.Phase == v1alpha1.VMStopped {
				reason = "spec.powerState is PoweredOn"
			}
			if m.status.Updating {
				reason = "it was stopped for an update"
			} else if p.wasAsked(m) {
				reason = "its guest followed a request to shut down from before spec.powerState was PoweredOn"
			}
			p.try(m, Action{Kind: PowerOnVM, Reason: reason})
		}
	}
	p.explainPower(unreachable, observed)
}

// powerOff stops a VM that spec wants off. A VM with an unknown power state gets no action.
func (p *planner) powerOff(m *member) {
	switch m.vm.Power {
	case vsphere.PoweredOff, vsphere.PowerUnknown, "":
		return
	}
	p.stop(m, "spec.powerState is PoweredOff")
}

// explainPower reports VMs whose power state is not changed.
func (p *planner) explainPower(unreachable, observed []*member) {
	if len(unreachable) > 0 {
		p.blockers.add(rankLost, Blocker{
			Reason:   v1alpha1.ReasonVMsLost,
			Message:  fmt.Sprintf("Out of reach: %s.", outOfReach(unreachable)),
			Brief:    about(unreachable, "is", "are") + " out of reach: " + unreachable[0].vm.Connection.Problem(),
			Terminal: true,
		})
	}
	if len(observed) == 0 {
		return
	}
	for _, m := range observed {
		m.status.Message += " and is not powered on: spec.repair holds it back"
	}
	if p.repairHeld {
		return // already reported
	}
	p.blockers.add(rankObserved, Blocker{
		Reason: v1alpha1.ReasonRepairHeld,
		Brief:  about(observed, "is", "are") + " not running, and spec.repair.mode is Observe",
		Message: fmt.Sprintf("Powered off or suspended from outside and left so, because spec.repair.mode is Observe: %s. "+
			"Power on these VMs, or set the mode to Enforce.", enumerate(labels(observed))),
	})
}
