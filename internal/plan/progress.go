package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// progress reports how far the VMs match spec, and what the update waits for. Its times are absolute: a message that counts seconds would be written each second.
func (p *planner) progress() Update {
	all := p.spec.desired
	if !p.roll.active() {
		all = p.plan.Updated + int32(len(p.plan.Outdated))
	}
	counts := fmt.Sprintf("%d of %s updated", min(p.plan.Updated, all), vms(int(all)))
	switch {
	case p.in.Deleting:
		return Update{}
	case !p.roll.active() && len(p.plan.Outdated) == 0:
		return Update{v1alpha1.ReasonUpToDate, "All VMs have the revision of spec."}
	case !p.roll.active():
		return Update{v1alpha1.ReasonNotStarted, fmt.Sprintf("%s; of an older revision: %s. No user edited spec since these came (they were adopted, or are from a backup or from an "+
			"older version of the operator, or status was lost), so they are not updated automatically. %s", counts, enumerate(p.plan.Outdated), p.howToStart())}
	case p.in.Paused != nil:
		return Update{v1alpha1.ReasonRolloutPaused, fmt.Sprintf("%s; the group is paused.", counts)}
	case p.plan.StampedBy != "":
		return Update{v1alpha1.ReasonRolloutPending, counts + "; nothing is updated while another installation of the operator has stamped VMs of the group."}
	case p.in.UpdateBlocked != nil:
		return Update{v1alpha1.ReasonRolloutPending, fmt.Sprintf("%s; the others wait: %s", counts, sentence(p.in.UpdateBlocked.Message))}
	case p.stopped():
		return Update{v1alpha1.ReasonRolloutStopped, fmt.Sprintf("%s; stopped, because %s. Nothing more is updated. %s", counts, p.whoFailed(), p.afterFailure())}
	case p.spec.update.onDelete:
		return Update{v1alpha1.ReasonRolloutPending, fmt.Sprintf("%s; spec.updateStrategy.type is OnDelete: %s: %s.", counts, p.howToReplace(), enumerate(p.plan.Outdated))}
	case p.spec.update.paused:
		return Update{v1alpha1.ReasonRolloutPaused, fmt.Sprintf("%s; spec.updateStrategy.paused is true.", counts)}
	}
	return p.underWay(counts)
}

// howToStart returns how a person starts an update of VMs that none concerns.
func (p *planner) howToStart() string {
	p.learnShapes()
	replaced := func(m *member) bool {
		c, known := p.inPlace(m)
		return slices.Contains(p.plan.Outdated, m.status.Name) && (!known || !c.Possible())
	}
	switch {
	case p.spec.update.onDelete:
		return fmt.Sprintf("spec.updateStrategy.type is OnDelete: %s.", p.howToReplace())
	case !slices.ContainsFunc(p.table(), replaced):
		return "An edit of their size or network starts an update, which changes them in place."
	case p.spec.policy == v1alpha1.DeletionRetain:
		return "To update them, set spec.deletionPolicy to Delete, and spec.updateStrategy.replaceTrigger to a new value. Then all VMs are replaced, and the old ones are destroyed. Set deletionPolicy back after the update."
	}
	return "To update them, set spec.updateStrategy.replaceTrigger to a new value, which replaces all VMs."
}

// underWay reports what an update that can continue waits for.
func (p *planner) underWay(counts string) Update {
	pending, replaced, others := p.remaining()
	if u, ok := p.retained(counts, others); ok {
		return u
	}
	switch {
	case others == 0 && pending > 0 && replaced == 0 && !neverRestarts(p.spec.update.resize):
		return Update{v1alpha1.ReasonRolloutPending, fmt.Sprintf("%s; %s", counts, p.explainSize())}
	case others == 0 && pending > 0 && replaced == 0:
		return Update{v1alpha1.ReasonRestartPending, fmt.Sprintf("%s; to be changed when they are off, since spec.updateStrategy.resize is %s: %s. Shut them down and start "+
			"them one after the other, or set resize to Restart.", counts, p.spec.update.resize, enumerate(p.restartPending()))}
	case others == 0 && replaced > 0 && p.spec.policy == v1alpha1.DeletionRetain:
		return Update{v1alpha1.ReasonRetainForbidsReplacement, fmt.Sprintf("%s; the others would have to be replaced, and spec.deletionPolicy Retain destroys no VM: %s. "+
			"Set it to Delete until the update has ended, or set spec.updateStrategy.type to OnDelete.", counts, enumerate(p.plan.Outdated))}
	case p.nothingMay():
		return Update{v1alpha1.ReasonRolloutPending, fmt.Sprintf("%s; the others cannot be updated: spec.updateStrategy.maxSurge and maxUnavailable both come to 0, so no VM may be "+
			"added and none may be missing. Set one of them to 1 or more.", counts)}
	case p.roll.lacksQuota && p.spec.update.unavailable == 0:
		return Update{v1alpha1.ReasonWaitingForQuota, fmt.Sprintf("%s; one more VM is needed first, and there is no room for it: %s If one "+
			"may be missing meanwhile, set spec.updateStrategy.maxUnavailable to 1.", counts, p.in.Surge.Blocker.Message)}
	}
	return Update{v1alpha1.ReasonRolloutProgressing, fmt.Sprintf("%s; %s%s.", counts, p.waitsFor(), p.explainUntried())}
}

// nothingMay is true while VMs must be replaced or restarted, and spec allows neither one more nor one less VM. The API refuses such a spec now. Older versions stored it, and
// text that is no percentage also yields 0.
func (p *planner) nothingMay() bool {
	u := p.spec.update
	return u.surge == 0 && u.unavailable == 0 && p.population() <= p.spec.desired && slices.ContainsFunc(p.table(), func(m *member) bool {
		change := p.change(m)
		return !m.doomed && (!m.status.Updating || m.unstopped) && (change == changeRestart || change == changeReplace && p.spec.policy == v1alpha1.DeletionDelete)
	})
}

// remaining counts the VMs that are left to update: those that wait for a restart, those that must be replaced, and others.
func (p *planner) remaining() (pending, replaced, others int) {
	for _, m := range p.table() {
		switch change := p.change(m); {
		case m.doomed || m.status.Updating:
			others++
		case change == changePending:
			pending++
		case change == changeReplace:
			replaced++
		case change != changeNone, m.status.Revision == p.roll.Revision && m.status.ReadySince.IsZero() && !m.status.Available:
			others++
		}
	}
	return pending, replaced, others
}

// waitsFor names the first step in progress, the nearest to its end first.
func (p *planner) waitsFor() string {
	if !p.in.Observation.Complete {
		return "waiting for the inventory of vCenter"
	}
	if b := p.in.CreateBlocked; b != nil && p.createsWanted > 0 {
		return "waiting, because no VM of the new revision can be cloned: " + strings.TrimSuffix(b.Message, ".")
	}
	if p.repairHeld {
		return "waiting, because more VMs need repair than spec.repair.maxUnhealthy allows"
	}
	if p.busyNow != nil && p.change(p.busyNow) != changeReplace {
		return p.explainBusy(p.busyNow)
	}
	if p.waitsToStop() {
		return fmt.Sprintf("no VM is stopped to be changed before %s: at %s, vCenter refused as busy to change a VM that was removed since",
			clock(p.roll.RefusedAt.Add(busyPause)), clock(p.roll.RefusedAt))
	}
	if p.deniedNow != nil {
		return p.explainDenied(p.deniedNow)
	}
	for _, m := range p.table() {
		switch {
		case m.doomed || p.failed(m):
		case p.boots(m):
			return p.waitsForGuest(m)
		case m.status.Updating && m.status.Phase != v1alpha1.VMReady && !m.spared:
			return p.waitsForRestart(m)
		}
	}
	return p.waitsForOthers()
}

// boots is true for a target VM that is on and not ready yet. It was cloned, or it was restarted and changed.
func (p *planner) boots(m *member) bool {
	s := &m.status
	return m.state == present && s.Revision == p.roll.Revision && !s.StartTime.IsZero() && s.ShutdownTime.IsZero() && !p.failedBefore(m)
}

func (p *planner) waitsForGuest(m *member) string {
	s := &m.status
	if p.unread(m) && !p.in.Now.Before(p.deadline(m)) { // otherwise the update does not wait for it yet
		return fmt.Sprintf("waiting until %s is read, which the guest of %s may have set", p.spec.guestInfo.Key, s.Name)
	}
	return fmt.Sprintf("waiting for the guest of %s since %s UTC, until %s at most", s.Name, s.StartTime.UTC().Format(time.TimeOnly), p.deadline(m).UTC().Format(time.TimeOnly))
}

func (p *planner) waitsForRestart(m *member) string {
	s := &m.status
	if end := p.ops.guests.end(s.ShutdownTime); !s.ShutdownTime.IsZero() && p.in.Now.Before(end) {
		p.wake(end)
		return fmt.Sprintf("restarting %s; its guest was asked to shut down, and has until %s UTC", s.Name, end.UTC().Format(time.TimeOnly))
	}
	return "restarting " + s.Name
}

// What the update waits for at a ready VM, with its name.
const (
	mayShutDown = "waiting for %s, whose guest may yet follow a request to shut down"
	staysReady  = "%s is ready, and has to stay so for spec.readiness.minReadySeconds"
)

func waitsAfterReady(m *member) string {
	if !m.status.ShutdownTime.IsZero() {
		return mayShutDown
	}
	return staysReady
}

// waitsForOthers names steps other than VMs that start.
func (p *planner) waitsForOthers() string {
	first := map[string]string{}
	note := func(what string, m *member) {
		if first[what] == "" {
			first[what] = m.status.Name
		}
	}
	var failed, away []*member
	for _, m := range p.table() {
		switch {
		case m.doomed:
			note("removing %s", m)
		case m.status.Phase == v1alpha1.VMCloning:
			note("cloning %s", m)
		case m.status.Available && p.change(m) == changeLive && p.ops.reconfigureFailure(m.status.Ordinal, p.roll.Revision) != nil:
			note("the change of %s failed and is retried", m)
		case p.ops.running(m.status.Ordinal, vsphere.OpReconfigure) || m.changes:
			note("changing %s", m)
		case m.status.Available, m.spared:
		case p.failed(m) && m.status.Phase != v1alpha1.VMReady:
			failed = append(failed, m)
		case m.status.Phase == v1alpha1.VMStarting && m.status.StartTime.IsZero():
			note("starting %s", m)
		case m.status.Phase == v1alpha1.VMReady:
			note(waitsAfterReady(m), m)
		case m.missing() && len(p.roll.blockedOlder) > 0:
		default:
			away = append(away, m)
		}
	}
	for _, what := range []string{
		"removing %s", mayShutDown, staysReady, "cloning %s", "starting %s", "changing %s", "the change of %s failed and is retried",
	} {
		if name := first[what]; name != "" {
			return fmt.Sprintf(what, name)
		}
	}
	return p.waitsForAction(failed, away)
}

// waitsForAction names the VM that needs an action.
func (p *planner) waitsForAction(failed, away []*member) string {
	switch {
	case len(failed) > 0:
		return p.waitsForFailed(failed)
	case len(p.roll.blockedOlder) > 0:
		return "waiting. " + strings.TrimSuffix(p.roll.blockedOlder[0].Message, ".")
	case len(away) > 0:
		return p.waitsForAway(away[0])
	}
	for _, m := range p.table() {
		if m.spared {
			return fmt.Sprintf("waiting to stop %s, whose guest did not shut down: it is not powered off while fewer VMs are available than must be", m.status.Name)
		}
	}
	if m := p.waitsForDisabled(); m != nil {
		return "waiting, because " + explainDisabled(m)
	}
	return "in progress"
}

// waitsForAway reports a VM that is neither available nor starting: a person must act unless it comes back. spec can allow more missing VMs only if there are other VMs to
// update.
func (p *planner) waitsForAway(m *member) string {
	act := "mend it, or set spec back to what it was"
	if slices.ContainsFunc(p.table(), func(other *member) bool { return other != m && !other.doomed && p.outdated(other) }) {
		act = "mend it, set spec back to what it was, or raise spec.updateStrategy.maxUnavailable to update others meanwhile"
	}
	return fmt.Sprintf("waiting for %s, which is not available; if it does not recover, %s", m.status.Name, act)
}

// waitsForFailed reports failed VMs if more can fail before the update stops. The update continues once they are ready, or a person acts.
func (p *planner) waitsForFailed(failed []*member) string {
	act := "delete the VM in vCenter to have it cloned anew"
	if p.spec.observe {
		act = "mend its guest (do not delete the VM: with spec.repair.mode Observe it is not cloned anew)"
	}
	return fmt.Sprintf("waiting for %s, which did not become ready %s. It continues automatically once it is ready. Find out why from the console of the VM; then %s, "+
		"or set spec back to what it was, or to what works. With %d such failures the update stops (spec.updateStrategy.maxFailures)",
		enumerate(labels(failed)), p.within(), act, p.spec.update.maxFailures)
}

// restartPending returns the names of VMs that are changed when they are off.
func (p *planner) restartPending() []string {
	var names []string
	for _, m := range p.table() {
		if !m.doomed && p.change(m) == changePending {
			names = append(names, m.status.Name)
		}
	}
	return names
}

// failedMembers returns the VMs that failed and still exist.
func (p *planner) failedMembers() []*member {
	var failed []*member
	for _, m := range p.table() {
		if !m.doomed && p.failed(m) {
			failed = append(failed, m)
		}
	}
	return failed
}

// failed is true for a VM that exists, as far as is known, and did not become ready in time. An older VM can have the UUID of one that failed and left.
func (p *planner) failed(m *member) bool {
	there := m.state == present || m.state == suspect
	return there && m.status.Revision == p.roll.Revision && slices.Contains(p.roll.Failed, strings.ToLower(m.status.UUID))
}

// whoFailed names the VMs that stopped the update.
func (p *planner) whoFailed() string {
	within := p.within()
	if m := p.firstRefused(); m != nil {
		return fmt.Sprintf("vCenter refused to give %s %s (its tasks in vCenter have the reason), and it was started as it was", label(m), sizeOf(p.roll.shapes[p.roll.Revision].Recorded))
	}
	if failed := p.failedMembers(); len(failed) > 0 {
		return fmt.Sprintf("%s did not become ready %s", enumerate(labels(failed)), within)
	}
	return fmt.Sprintf("%s did not become ready %s, and left the group since", vms(len(p.roll.Failed)), within)
}

// brieflyFailed is a short form of whoFailed.
func (p *planner) brieflyFailed() string {
	if m := p.firstRefused(); m != nil {
		return m.status.Name + ": vCenter refused the new size; the update is stopped"
	}
	if failed := p.failedMembers(); len(failed) > 0 {
		return about(failed, "did", "did") + " not become ready; the update is stopped"
	}
	return vms(len(p.roll.Failed)) + " did not become ready, and left the group; the update is stopped"
}

// afterFailure returns the remedy for a stopped update. A VM whose size vCenter refused still runs, so the remedy does not suggest to replace all VMs.
func (p *planner) afterFailure() string {
	if p.firstRefused() != nil {
		return p.afterRefusal()
	}
	return "Find out why from the console of the VM; then set spec back to what it was, or to what works, or set spec.updateStrategy.replaceTrigger to a new value to try again."
}

// within describes the startup timeout and the failure value.
func (p *planner) within() string {
	within := fmt.Sprintf("within %s (spec.readiness.startupTimeoutSeconds)", p.spec.startup)
	if g := p.spec.guestInfo; g != nil && g.FailedValue != "" {
		within += fmt.Sprintf(", or set %s to %q", g.Key, g.FailedValue)
	}
	return within
}
