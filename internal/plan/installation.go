package plan

import (
	"fmt"
	"slices"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// installation holds a group whose VMs carry the stamp of another installation. That installation serves the group too, or did so until it was lost. New clones would double the
// VMs, and two installations would undo each other's actions.
//
// An installation that is named as the predecessor left its VMs to this one. They are stamped anew, and no other action is taken until all are.
func (p *planner) installation() {
	var strange, inherited []*member
	for _, m := range p.table() {
		switch {
		case m.vm == nil || m.vm.Stamp.Installation == p.in.ID.Installation:
		case m.vm.Stamp.Installation == p.in.Predecessor:
			inherited = append(inherited, m)
		default:
			strange = append(strange, m)
			p.plan.StampedBy = m.vm.Stamp.Installation
		}
	}
	switch {
	case len(strange) > 0:
		p.blockers.add(rankInstallation, Blocker{
			Reason: v1alpha1.ReasonAnotherInstallation,
			Brief:  about(strange, "has", "have") + " the stamp of another installation of the operator",
			Message: fmt.Sprintf("Another installation of the operator (UID %s) has stamped %s of this group: %s. Nothing is cloned, changed or deleted.",
				untrusted.Name(p.plan.StampedBy), vms(len(strange)), enumerate(labels(strange))),
			Terminal: true,
		})
	case len(inherited) > 0:
		p.inherit(inherited)
	default:
		return
	}
	p.handsOff = true
}

// inherit stamps the VMs of the predecessor anew.
func (p *planner) inherit(members []*member) {
	message := fmt.Sprintf("Stamping %s that installation %s left to this one: %s.", vms(len(members)), p.in.Predecessor, enumerate(labels(members)))
	away := slices.DeleteFunc(slices.Clone(members), func(m *member) bool { return m.vm.Connected() })
	if len(away) > 0 {
		message += fmt.Sprintf(" Not reached by vCenter: %s.", outOfReach(away))
	}
	p.blockers.add(rankInstallation, Blocker{
		Reason: v1alpha1.ReasonRestamping, Message: message, Brief: about(members, "gets", "get") + " the stamp of this installation",
	})
	if p.handsOff {
		return
	}
	for _, m := range members {
		if m.vm.Connected() {
			p.try(m, Action{Kind: RestampVM, Reason: "the installation that cloned it left it to this one"})
		}
	}
}
