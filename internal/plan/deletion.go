package plan

import (
	"fmt"
	"slices"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// deletion decides which VMs leave independent of scaling: ordinals in status.deleting, VMs with a tombstone and, if the group is deleted, every VM. A VM with a tombstone leaves
// until it is deleted; see reprieve for others.
func (p *planner) deletion() {
	for _, ordinal := range p.ordinals {
		m := p.members[ordinal]
		deleting := p.in.Deleting && !p.handsOff
		if deleting && p.in.Hold == nil && !p.in.Keep {
			p.doom(m)
		}
		if m.doomed {
			p.doom(m)
		} else if !deleting {
			continue
		}
		if m.missing() && p.in.Observation.Complete {
			m.dropped = true // no VM is left, or none ever existed
		}
	}
	p.forget()
	p.explainElsewhere()
	p.explainKept()
}

// forget removes ordinals without a VM from Doomed.
func (p *planner) forget() {
	if !p.in.Observation.Complete {
		return
	}
	for ordinal := range p.doomed {
		if m := p.members[ordinal]; m == nil || m.dropped {
			delete(p.doomed, ordinal)
		}
	}
}

// doom makes a member leave for good.
func (p *planner) doom(m *member) {
	m.doomed, p.doomed[m.status.Ordinal] = true, true
	m.forgetReadiness()
	m.status.Phase, m.status.Available = v1alpha1.VMDeleting, false
	switch {
	case m.state == present && m.vm.Connected():
		m.status.Message = ""
	case m.state == suspect && p.in.Observation.Complete:
		m.status.Message = "not seen any more; waiting for vCenter to confirm its deletion"
	case m.state == cloning:
		m.status.Message = "its clone has not ended; the VM is deleted once it is there"
	}
}

// explainElsewhere reports VMs that the operator can neither use nor delete, because a person moved them out of the root folder.
func (p *planner) explainElsewhere() {
	var away []*member
	for _, m := range p.table() {
		if m.state == elsewhere {
			away = append(away, m)
		}
	}
	if len(away) > 0 {
		p.blockers.add(rankLost, Blocker{
			Reason: v1alpha1.ReasonVMsLost,
			Brief:  about(away, "is", "are") + " outside of the operator's root folder",
			Message: fmt.Sprintf("Outside of the operator's root folder, where the operator does not touch VMs and clones none in their place: %s. "+
				"Ask a hub administrator to check whether these VMs have the stamp of this group (vmgroup.owner in their configuration). If they have it, ask to move them back into the group's folder, or delete them.", enumerate(p.places(away))),
			Terminal: true,
		})
	}
}

// removal plans the next removal step of every doomed VM. Each step follows from the observation, so it does not matter which replica took the previous one.
func (p *planner) removal() {
	if p.in.Hold != nil {
		p.holdRemoval()
	}
	var unreachable []*member
	byUpdate := p.byReplacement()
	for _, m := range p.table() {
		var why string
		if m.doomed {
			why, m.leaves = p.whyLeaves(m, byUpdate)
		}
		if m.doomed && m.state == cloning && p.in.Hold == nil {
			p.cancelClone(m)
		}
		if !m.doomed || m.awaits || m.state != present || p.in.Hold != nil && !p.replaced(m) {
			continue
		}
		switch {
		case !m.vm.Connected():
			unreachable = append(unreachable, m)
		case p.spec.policy == v1alpha1.DeletionRetain:
			p.try(m, Action{Kind: ReleaseVM, Reason: why + " and spec.deletionPolicy is Retain"})
		case !m.vm.Tombstone:
			p.try(m, Action{Kind: MarkVM, Reason: why})
		case m.vm.Power != vsphere.PoweredOff:
			p.stop(m, why)
		default:
			p.try(m, Action{Kind: DestroyVM, Reason: why, Removal: m.leaves})
		}
	}
	if len(unreachable) > 0 {
		p.blockers.add(rankLost, Blocker{
			Reason:   v1alpha1.ReasonVMsLost,
			Message:  fmt.Sprintf("Not removed, because vCenter does not reach them: %s. The removal then continues automatically.", outOfReach(unreachable)),
			Brief:    about(unreachable, "is", "are") + " out of reach, so not removed",
			Terminal: true,
		})
	}
}

// whyLeaves returns why a VM is removed. byUpdate has the VMs that leave for an update: see byReplacement.
func (p *planner) whyLeaves(m *member, byUpdate map[*member]bool) (string, RemovalCause) {
	switch {
	case p.in.Deleting:
		return "the group is being deleted", RemovedByDeletion
	case byUpdate[m]:
		return "it is of an older revision and leaves the group", RemovedByReplacement
	}
	return "it was chosen to leave the group", RemovedByScaleDown
}

// byReplacement returns the VMs that leave because another VM replaces them. Status does not record why a VM leaves, so byReplacement counts.
//
// While an update runs, VMs above the wanted number are surplus for a scale-down, except those that updates can have added to the older VMs. As many VMs leave for the
// scale-down, the nearest to their end first, so that a later run does not swap them. The update replaces the rest. An update that does not run replaces none.
func (p *planner) byReplacement() map[*member]bool {
	update := p.spec.update
	if !p.roll.active() || update.onDelete || update.paused || p.stopped() {
		return nil
	}
	var leaving []*member
	there, most := int32(0), int32(0)
	older := map[string]int32{}
	for _, m := range p.table() {
		outdated := p.outdated(m)
		if !m.exists() && m.state != cloning || m.doomed && !outdated { // these leave for the scale-down anyway
			continue
		}
		there++
		if outdated {
			older[m.status.Revision]++
			most = max(most, older[m.status.Revision])
		}
		if m.doomed {
			leaving = append(leaving, m)
		}
	}
	surplus := there - p.spec.desired - min(update.surge, there-most)
	slices.SortStableFunc(leaving, func(a, b *member) int { return p.stepsLeft(a) - p.stepsLeft(b) })
	byUpdate := map[*member]bool{}
	for _, m := range leaving[min(max(int(surplus), 0), len(leaving)):] {
		byUpdate[m] = true
	}
	return byUpdate
}

// stepsLeft returns the number of removal steps that a VM has left.
func (p *planner) stepsLeft(m *member) int {
	switch {
	case m.state == cloning:
		return 3
	case m.state != present || p.ops.running(m.status.Ordinal, vsphere.OpDestroy):
		return 0
	case m.vm.Tombstone && m.vm.Power == vsphere.PoweredOff:
		return 1
	}
	return 2
}

// replaced is true for a VM that leaves only because another VM replaces it: a hold does not apply to it. If the group has more VMs than wanted and an update can add VMs, the
// planner cannot know which VMs leave for a replacement.
func (p *planner) replaced(m *member) bool {
	there := int32(0)
	for _, other := range p.table() {
		if other.exists() || other.state == cloning {
			there++
		}
	}
	return p.roll.going && p.outdated(m) && there <= p.spec.desired+p.spec.update.surge
}

// holdRemoval keeps the VMs that would leave. It reports the hold only if there is such a VM.
func (p *planner) holdRemoval() {
	kept := slices.ContainsFunc(p.table(), func(m *member) bool { return p.in.Deleting || m.doomed && !p.replaced(m) })
	if !kept && !p.surplusHeld {
		return
	}
	p.plan.Held = p.in.Hold
	p.blockers.add(rankHeld, p.in.Hold.Blocker)
	p.wake(p.in.Hold.Until)
}
