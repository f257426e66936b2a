// Package forecast predicts what the operator does for an edit of a VmGroup, once it has no more to do.
package forecast

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/inquiry"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
)

// shown are the reasons for which a plan waits that the sender of the object can resolve, or needs to know.
var shown = []string{
	v1alpha1.ReasonPaused, v1alpha1.ReasonMemberPaused, v1alpha1.ReasonInvalidSpec, v1alpha1.ReasonNotSupported,
	v1alpha1.ReasonNotATemplate, v1alpha1.ReasonTemplateAmbiguous, v1alpha1.ReasonTemplateUnfit, v1alpha1.ReasonPlacementNotFound,
	v1alpha1.ReasonPlacementAmbiguous, v1alpha1.ReasonPlacementImpossible, v1alpha1.ReasonUserDataNotFound, v1alpha1.ReasonMetadataTooLarge, v1alpha1.ReasonLegacyObject,
}

// Of returns what the operator does for an accepted change of old, nil for a new group, into now.
func Of(old, now *v1alpha1.VmGroup, preview group.Preview) (p inquiry.Plan) {
	counts(&p, old, now, preview.Plan)
	if old != nil && preview.Update.VMs() > 0 && updatesOtherwise(old, now, preview.Update) {
		if preview.Held != nil {
			p.Waits = append(p.Waits, keep(preview.Update.VMs())+" an older revision: the operator holds the group at what was admitted before until spec complies; see condition PolicyCompliant")
		} else {
			updates(&p, now, preview.Update)
		}
	}
	p.PowersOff, p.PowersOn = max(0, p.PowersOff-p.Replaces), max(0, p.PowersOn-p.Replaces)
	if held := preview.Plan.Held; old != nil && held != nil {
		p.Waits = append(p.Waits, held.Message)
	}
	for _, blocker := range preview.Plan.Blockers {
		if slices.Contains(shown, blocker.Reason) {
			p.Waits = append(p.Waits, blocker.Message)
		}
	}
	return p
}

// Removes returns only the VMs that leave because of a change of old into now.
func Removes(old, now *v1alpha1.VmGroup, p plan.Plan) (leave inquiry.Plan) {
	counts(&leave, old, now, p)
	return inquiry.Plan{Removes: leave.Removes, Removed: leave.Removed, Retained: leave.Retained}
}

// NotDone returns a sentence about an accepted edit of the shape that the operator does not carry out: the edit makes nothing worse. It returns "" if the
// forecast covers that.
func NotDone(old, now *v1alpha1.VmGroup, preview group.Preview) string {
	if old == nil || !preview.NotDone || preview.Held != nil && preview.Update.VMs() > 0 || plan.Revision(old.Spec) == plan.Revision(now.Spec) {
		return ""
	}
	return "this change is accepted, and not carried out until spec complies; see condition PolicyCompliant"
}

// counts adds the VMs that come, that leave, and whose power state changes.
func counts(to *inquiry.Plan, old, now *v1alpha1.VmGroup, p plan.Plan) {
	count := map[plan.ActionKind]int{}
	for _, action := range p.Actions {
		if !slices.Contains(p.Doomed, action.Ordinal) {
			count[action.Kind]++
		}
	}
	to.Adds = count[plan.CreateVM]
	if old == nil {
		return
	}
	to.Removed = namesLeaving(old, p)
	to.Removes, to.Retained = len(to.Removed), now.Spec.DeletionPolicy == v1alpha1.DeletionRetain
	if old.Spec.PowerState != now.Spec.PowerState {
		to.PowersOff, to.PowersOn = count[plan.PowerOffVM]+count[plan.ShutdownGuest], count[plan.PowerOnVM]
	}
}

// namesLeaving returns the VMs that this change removes, by ordinal. It omits VMs whose removal began earlier.
func namesLeaving(old *v1alpha1.VmGroup, p plan.Plan) []string {
	var names []string
	for _, vm := range p.VMs {
		if slices.Contains(p.Doomed, vm.Ordinal) && !slices.Contains(old.Status.Deleting, vm.Ordinal) {
			names = append(names, vm.Name)
		}
	}
	return names
}

func keep(n int) string {
	if n == 1 {
		return "1 VM keeps"
	}
	return fmt.Sprintf("%d VMs keep", n)
}

// updates adds the effects on existing VMs that do not match spec, and sentences about VMs that do not change automatically.
func updates(p *inquiry.Plan, of *v1alpha1.VmGroup, u group.Foretold) {
	wait := func(n int, format string) {
		if n > 0 {
			p.Waits = append(p.Waits, keep(n)+format)
		}
	}
	strategy := strategyOf(of.Spec)
	switch {
	case !u.Known:
		wait(u.VMs(), " an older revision: status does not have their shape; a new value of spec.updateStrategy.replaceTrigger replaces all VMs")
		return
	case stopped(strategy, u):
		wait(u.VMs(), " an older revision: the update was stopped, since as many VMs did not become ready as spec.updateStrategy.maxFailures allows")
		return
	case strategy.Type == v1alpha1.UpdateOnDelete:
		wait(u.VMs(), " an older revision until deleted: spec.updateStrategy.type is OnDelete")
		return
	case strategy.Paused:
		wait(u.VMs(), " an older revision for now: spec.updateStrategy.paused is true")
		return
	}
	p.Replaces, p.Restarts, p.Resizes, p.Grows, p.Extends, p.Connects, p.OneByOne = u.Replaced, u.Restarted, u.Grown, u.Enlarged, u.Extended, u.Moved, oneByOne(strategy)
	if of.Spec.DeletionPolicy == v1alpha1.DeletionRetain {
		p.Replaces = 0
		wait(u.Replaced, " an older revision: only another VM could be like spec, and spec.deletionPolicy is Retain")
	}
	wait(u.Kept, " the size until spec.updateStrategy.maxUnavailable is 1: no VM is added to make up for one that restarts, "+
		"since spec.deletionPolicy is Retain")
	if p.Replaces+p.Restarts > 0 {
		p.Surge = int(u.Surge)
	}
	wait(u.Linked, " the root disk: linked clones share it with the template, and vCenter does not grow it; a new value of spec.updateStrategy.replaceTrigger replaces all VMs")
	wait(u.Pending, " the size until powered off: it cannot change while a VM runs, and spec.updateStrategy.resize is Hot")
}

// oneByOne reports whether the VMs of an update change one at a time.
func oneByOne(strategy v1alpha1.UpdateStrategy) bool {
	one := func(v *intstr.IntOrString, is int32) bool { return v == nil || v.Type == intstr.Int && v.IntVal <= is }
	return one(strategy.MaxSurge, 1) && one(strategy.MaxUnavailable, 0) || strategy.MaxSurge != nil && one(strategy.MaxSurge, 0) && one(strategy.MaxUnavailable, 1)
}
