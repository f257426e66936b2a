package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// rollout is the update in this run.
type rollout struct {
	Rollout
	from map[string]bool
	// shapes are the known shapes, by revision.
	shapes map[string]*Shape
	// going is true if VMs can be changed now.
	going bool
	// surge is the wanted number of VMs above the desired one. lacksQuota is true if a quota forbids all of them.
	surge      int32
	lacksQuota bool
	// blockedOlder explains why VMs of older revisions cannot be cloned.
	blockedOlder []Blocker
}

// active is true while there are VMs to update, or new VMs to wait for.
func (r *rollout) active() bool { return len(r.From) > 0 }

// begin reads the recorded update, or begins one. It also does so while no action is possible, because an edit is visible only once.
func (p *planner) begin() {
	var revisions []string
	if p.in.Edited {
		for _, m := range p.table() {
			revisions = append(revisions, m.status.Revision) // a VM that leaves can still stay: see reprieve
		}
		if p.in.UpdateBlocked != nil {
			revisions = append(revisions, p.in.Revision) // the revision of clones until the edit is allowed
		}
	}
	p.roll.Rollout = Begin(p.in.Rollout, p.in.Edited, p.in.UpdateRevision, revisions, p.in.Now)
	p.markSurge()
	if p.in.Deleting || !p.roll.active() {
		return
	}
	p.retryRefused()
	p.roll.from = map[string]bool{}
	for _, revision := range p.roll.From {
		p.roll.from[revision] = true
	}
	p.learnShapes()
	p.keepRefusals()
}

// learnShapes makes the shapes known. A group without an update does not need them in each run.
func (p *planner) learnShapes() {
	p.roll.shapes = make(map[string]*Shape, len(p.in.Shapes)+1)
	for i := range p.in.Shapes {
		p.roll.shapes[p.in.Shapes[i].Recorded.Revision] = &p.in.Shapes[i]
	}
	p.roll.shapes[p.in.Revision] = &Shape{Recorded: ShapeOf(p.in.Spec), Blocked: p.in.CreateBlocked}
}

// aim decides whether the update runs, and how many surge VMs it wants. It runs before any pass that could remove VMs that the update made.
func (p *planner) aim() {
	p.learnSurge()
	p.roll.going = p.roll.active() && !p.in.Deleting && p.in.UpdateBlocked == nil && !p.spec.keep && !p.spec.noCreate &&
		!p.spec.update.onDelete && !p.spec.update.paused && !p.stopped()
	p.roll.surge = p.surge()
}

// stopped is true for an update with too many failed VMs.
func (p *planner) stopped() bool {
	return p.roll.Stopped(p.in.Spec.UpdateStrategy)
}

// outdated is true for a VM that the update concerns.
func (p *planner) outdated(m *member) bool { return p.roll.from[m.status.Revision] }

// update plans the next steps of the update.
func (p *planner) update() {
	b := p.budget()
	p.seeBusy()
	if p.roll.going {
		p.deniedNow = p.deniedToTry(b)
	}
	if p.roll.going && !p.repairHeld && !p.surplusHeld {
		p.changeInPlace(&b)
		p.takeAway(&b)
	}
	for _, m := range p.table() {
		if p.roll.active() && !m.doomed && p.change(m) == changePending {
			m.status.RestartPending = true
		}
	}
}

// takeAway replaces and restarts VMs, as many as the budget allows. VMs that are not available come first.
func (p *planner) takeAway(b *budget) {
	p.spareGuests(*b)
	var candidates []*member
	for _, m := range p.table() {
		change := p.change(m)
		if m.doomed || m.state != present || !m.vm.Connected() || m.vm.IsTemplate || change != changeReplace && change != changeRestart {
			continue
		}
		if !p.goOn(m, change, b) {
			candidates = append(candidates, m)
		}
	}
	slices.SortStableFunc(candidates, func(a, b *member) int {
		// A VM that was ready before can become ready again.
		return cmp.Or(service(a)-service(b), wasReady(a)-wasReady(b), a.status.RefusedAt.Compare(b.status.RefusedAt), p.compareLeaving(a, b))
	})
	spare := p.population() - p.spec.desired
	for _, m := range candidates {
		if p.change(m) == changeRestart {
			if p.deniedNow == nil && !p.pausesStops() && !p.othersTry(m) && b.take(m.serves()) { // a denial for one VM can apply to the next
				p.restart(m)
			}
			continue
		}
		if p.in.CreateBlocked != nil && spare <= 0 {
			p.createsWanted++
			continue // no VM could replace it
		}
		if p.spec.policy == v1alpha1.DeletionDelete && b.take(m.serves()) { // otherwise the policy does not allow to destroy it
			p.plan.Replaces = p.plan.Replaces || spare <= 0
			p.doom(m)
			spare--
		}
	}
}

// goOn continues with a VM that was taken away before or that is needless, and reports whether it did.
func (p *planner) goOn(m *member, c change, b *budget) bool {
	switch {
	case m.spared:
	case m.unstopped && (p.deniedNow != nil || p.pausesStops() || p.othersTry(m)): // a denial for one VM can apply to this one
	case m.unstopped && b.available < 0: // with all chosen VMs, too many would be missing: this one waits, and leaves its share to the next
		b.available++
	case m.unstopped:
		b.there--
		p.restart(m)
	case m.status.Updating && c == changeRestart:
		p.restart(m)
	case p.replaceMissing(m, c, *b):
	case p.removeNeedless(m, c):
		b.there-- // no other VM can be taken away because of it
	default:
		return false
	}
	return true
}

// replaceMissing replaces a VM that was stopped for an update and did not come back, and reports whether it did. A VM that passes its gate and waits only for minReadySeconds is
// back soon: it stays while too few others are available.
func (p *planner) replaceMissing(m *member, c change, b budget) bool {
	missing := m.status.Updating && c == changeReplace && !m.serves() && (b.there >= 0 || p.failedToReturn(m))
	if !missing || !p.mayReplace() || m.status.Phase == v1alpha1.VMReady && b.available < 0 {
		return false
	}
	p.plan.Replaces = p.plan.Replaces || p.population() <= p.spec.desired
	p.doom(m)
	return true
}

// mayReplace is true if a VM can leave and another can be cloned for it or exists already.
func (p *planner) mayReplace() bool {
	return p.spec.policy == v1alpha1.DeletionDelete && (p.in.CreateBlocked == nil || p.population() > p.spec.desired)
}

// failedToReturn is true for a VM that was stopped for an update and has not become ready in time, while more VMs exist than must. It makes up for no other VM, so it can leave
// before others are available. If several VMs did not return, each would wait for the others otherwise.
func (p *planner) failedToReturn(m *member) bool {
	if p.population() <= p.spec.desired-p.spec.update.unavailable {
		return false
	}
	return p.hadTime(m)
}

// hadTime is true for a VM that was started at least startupTimeoutSeconds ago, and has not become ready since.
func (p *planner) hadTime(m *member) bool {
	return !m.status.StartTime.IsZero() && !p.in.Now.Before(p.startsUntil(m))
}

// removeNeedless replaces a needless VM, and reports whether it did.
func (p *planner) removeNeedless(m *member, c change) bool {
	if c != changeReplace || p.spec.policy != v1alpha1.DeletionDelete || !p.needless(m) {
		return false
	}
	p.doom(m)
	return true
}

// needless is true for a VM that has not become ready in time and makes up for no other VM. The wanted number of VMs have the target, and one of them is available. So an undo
// removes failed VMs, even if the group lacked a VM before.
func (p *planner) needless(m *member) bool {
	never := p.spec.wantOn && !m.wasReady && !m.status.Updating && !m.status.Available
	return never && p.hadTime(m) && p.updated() >= p.spec.desired && slices.ContainsFunc(p.table(), func(o *member) bool {
		return !o.doomed && o.status.Available && o.status.Revision == p.roll.Revision
	})
}

func wasReady(m *member) int { return one(m.wasReady && !m.serves()) }

func service(m *member) int { return one(m.serves()) }

func availability(m *member) int { return one(m.status.Available) }

// one is 1 for true and 0 for false.
func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

// conclude counts VMs, and ends the update once its goal is reached.
func (p *planner) conclude() {
	for _, m := range p.table() {
		switch {
		case m.doomed || !m.exists():
		case m.status.Revision == p.in.UpdateRevision:
			p.plan.Updated++
		default:
			p.plan.Outdated = append(p.plan.Outdated, m.status.Name)
		}
	}
	if !p.handsOff && !p.in.Deleting && p.ended() {
		p.roll.Rollout = Rollout{Revision: p.roll.Revision}
	}
	if !p.handsOff && !p.in.Deleting {
		p.recordSurge()
		p.roll.SurgeKnown = p.roll.active() || len(p.roll.Surge) > 0
	}
	p.plan.Surge = p.roll.surge
	p.plan.Behind = p.roll.going && p.population() >= p.spec.desired-p.spec.update.unavailable
	if p.in.Hold != nil && p.in.UpdateBlocked != nil {
		p.wake(p.in.Hold.Until)
	}
	p.plan.Rollout = p.roll.Rollout
	p.plan.Revisions, p.plan.AdoptedRevisions = p.revisions(), p.adoptedRevisions()
	p.plan.Update = p.progress()
	p.explainMore()
	p.explainUpdate()
}

// explainUpdate adds a blocker for an update that waits for a person.
func (p *planner) explainUpdate() {
	message := p.plan.Update.Message
	switch p.plan.Update.Reason {
	case v1alpha1.ReasonRolloutStopped:
		p.blockers.add(rankHeld, Blocker{Reason: v1alpha1.ReasonRolloutStopped, Message: message, Brief: p.brieflyFailed(), Terminal: true})
	case v1alpha1.ReasonRetainForbidsReplacement:
		p.blockers.add(rankHeld, Blocker{Reason: v1alpha1.ReasonRetainForbidsReplacement, Message: message, Terminal: true})
	case v1alpha1.ReasonRolloutPending:
		if !p.spec.update.onDelete && p.in.UpdateBlocked == nil {
			p.blockers.add(rankSpec, Blocker{Reason: v1alpha1.ReasonInvalidSpec, Message: message, Terminal: true}) // see nothingMay
		}
	case v1alpha1.ReasonWaitingForQuota:
		p.blockers.add(rankObserved, Blocker{Reason: v1alpha1.ReasonWaitingForQuota, Message: message})
	}
}

// explainMore reports surge VMs while their update is held. They stay until the update continues, even if the wanted number of VMs have the revision of spec.
func (p *planner) explainMore() {
	n := min(p.population()-p.spec.desired, p.roll.surge)
	if p.in.UpdateBlocked == nil || p.handsOff || p.in.Hold != nil || n <= 0 {
		return
	}
	p.plan.Update.Message += fmt.Sprintf(" Until then the group has %s more than spec.replicas (%d), from the update that was under way: set spec to what is "+
		"allowed, or have it allowed.",
		vms(int(n)), p.spec.desired)
}

// left is true while a VM of an older revision exists, can appear, or has an unfinished restart.
func (p *planner) left() bool {
	return slices.ContainsFunc(p.table(), func(m *member) bool { return p.outdated(m) || m.status.Updating && !m.doomed })
}

// ended is true once no VM is left that the update concerns, and the new ones have become ready: the last one can fail, too. The update does not end while the group is held at
// another shape, because VMs of that shape can appear. It also does not end during a change in place, which can belong to an edit that was reverted.
func (p *planner) ended() bool {
	held := p.in.UpdateBlocked != nil && p.in.Revision != p.roll.Revision
	if !p.roll.active() || held || p.left() || p.population() < p.spec.desired {
		return false
	}
	if slices.ContainsFunc(p.in.Observation.InFlight, func(o vsphere.Operation) bool { return o.Kind == vsphere.OpReconfigure }) {
		return false
	}
	return !slices.ContainsFunc(p.table(), func(m *member) bool {
		return !m.doomed && m.status.Revision == p.roll.Revision && !m.status.Available && m.status.ReadySince.IsZero() && !p.failedBefore(m)
	})
}

// revisions returns the shapes to record in status, the newest last: those that VMs have, and others if there is room.
func (p *planner) revisions() []v1alpha1.Revision {
	var kept []v1alpha1.Revision
	for _, s := range p.in.Shapes {
		if s.Recorded.Revision != p.in.Revision && !s.Adopted {
			kept = append(kept, s.Recorded)
		}
	}
	if !p.spec.keep {
		kept = append(kept, ShapeOf(p.in.Spec))
	}
	if len(kept) <= v1alpha1.MaxRevisions {
		return kept
	}
	inUse := map[string]bool{}
	for _, m := range p.table() {
		inUse[m.status.Revision] = true
	}
	for len(kept) > v1alpha1.MaxRevisions {
		at := slices.IndexFunc(kept, func(r v1alpha1.Revision) bool { return !inUse[r.Revision] })
		if at < 0 || at == len(kept)-1 {
			at = 0
		}
		kept = slices.Delete(kept, at, at+1)
	}
	return kept
}

// adoptedRevisions returns the shapes of adopted VMs to record in status: those that VMs have. If there are too many, the recorded ones, which are the last, stay: otherwise two
// shapes would take each other's place in every run.
func (p *planner) adoptedRevisions() (kept []v1alpha1.Revision) {
	for _, s := range p.in.Shapes {
		inUse := func(m *member) bool { return m.status.Revision == s.Recorded.Revision }
		if s.Adopted && s.Recorded.Revision != p.in.Revision && slices.ContainsFunc(p.table(), inUse) {
			kept = append(kept, s.Recorded)
		}
	}
	return kept[max(0, len(kept)-v1alpha1.MaxAdoptedRevisions):]
}

// forgive removes a VM that left from the failed ones: a new clone gets its UUID, and has not failed yet.
func (r *Rollout) forgive(uuid string) {
	r.Failed = slices.DeleteFunc(r.Failed, func(failed string) bool { return strings.EqualFold(failed, uuid) })
}

// fail adds a VM to the failed ones.
func (r *Rollout) fail(uuid string) {
	uuid = strings.ToLower(uuid)
	if uuid != "" && !slices.Contains(r.Failed, uuid) && len(r.Failed) < maxFailed {
		r.Failed = append(r.Failed, uuid)
		slices.Sort(r.Failed)
	}
}
