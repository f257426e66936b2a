package webhook

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/inquiry"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
)

// told are the reasons for which a plan waits that the sender of the object can resolve, or needs to know.
var told = []string{
	v1alpha1.ReasonPaused, v1alpha1.ReasonMemberPaused, v1alpha1.ReasonInvalidSpec, v1alpha1.ReasonNotSupported,
	v1alpha1.ReasonNotATemplate, v1alpha1.ReasonTemplateAmbiguous, v1alpha1.ReasonTemplateUnfit, v1alpha1.ReasonPlacementNotFound,
	v1alpha1.ReasonPlacementAmbiguous, v1alpha1.ReasonPlacementImpossible, v1alpha1.ReasonUserDataNotFound, v1alpha1.ReasonMetadataTooLarge, v1alpha1.ReasonLegacyObject,
}

// forecast returns sentences about what the operator does for a change of old, nil for a new group, into group. For a new group whose VMs can be created, it
// returns none: the object itself is clear.
func forecast(old, group *v1alpha1.VmGroup, preview Preview) []string {
	p := foresee(old, group, preview)
	if does := phrases(p); old != nil && len(does) > 0 {
		return append([]string{"this change " + join(does)}, p.Waits...)
	}
	return p.Waits
}

// foresee returns what the operator does for a change of old, nil for a new group, into group.
func foresee(old, group *v1alpha1.VmGroup, preview Preview) (p inquiry.Plan) {
	counts(&p, old, group, preview.Plan)
	if old != nil && preview.Update.VMs() > 0 && updatesOtherwise(old, group, preview.Update) {
		if preview.Held != nil {
			p.Waits = append(p.Waits, keep(preview.Update.VMs())+" an older revision: the operator holds the group at what was admitted before until spec complies; see condition PolicyCompliant")
		} else {
			updates(&p, group, preview.Update)
		}
	}
	for _, blocker := range preview.Plan.Blockers {
		if slices.Contains(told, blocker.Reason) {
			p.Waits = append(p.Waits, blocker.Message)
		}
	}
	return p
}

// notDone returns a sentence about an accepted edit of the shape that the operator does not carry out: the edit makes nothing worse. It returns "" if the
// forecast covers that.
func notDone(old, group *v1alpha1.VmGroup, preview Preview) string {
	if old == nil || !preview.NotDone || preview.Held != nil && preview.Update.VMs() > 0 || plan.Revision(old.Spec) == plan.Revision(group.Spec) {
		return ""
	}
	return "this change is accepted, and not carried out until spec complies; see condition PolicyCompliant"
}

// counts adds the VMs that come, that leave, and whose power state changes.
func counts(to *inquiry.Plan, old, group *v1alpha1.VmGroup, p plan.Plan) {
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
	to.Removes, to.Retained = len(to.Removed), group.Spec.DeletionPolicy == v1alpha1.DeletionRetain
	if old.Spec.PowerState != group.Spec.PowerState {
		to.PowersOff, to.PowersOn = count[plan.PowerOffVM]+count[plan.ShutdownGuest], count[plan.PowerOnVM]
	}
}

// phrases describe a plan.
func phrases(p inquiry.Plan) (does []string) {
	say := func(n int, format string) {
		if n > 0 {
			does = append(does, fmt.Sprintf(format, vms(n)))
		}
	}
	say(p.Adds, "adds %s")
	if p.Removes > 0 {
		does = append(does, leaving(p))
	}
	say(p.PowersOff, "powers off %s")
	say(p.PowersOn, "powers on %s")
	say(p.Replaces, "replaces %s"+inTurn(p.Replaces, p))
	say(p.Restarts, "restarts %s"+inTurn(p.Restarts, p)+" to resize")
	say(p.Resizes, "resizes %s in place without a restart")
	say(p.Connects, "connects %s to another network without a restart")
	if p.Surge > 0 {
		does = append(does, fmt.Sprintf("needs quota for %d more meanwhile", p.Surge))
	}
	return does
}

// leaving is the phrase about VMs that are removed.
func leaving(p inquiry.Plan) string {
	if p.Retained {
		return "retains " + vms(p.Removes) + " (kept in vCenter): " + enumerate(p.Removed)
	}
	return "removes " + vms(p.Removes) + ": " + enumerate(p.Removed)
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

func vms(n int) string {
	if n == 1 {
		return "1 VM"
	}
	return fmt.Sprintf("%d VMs", n)
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
	p.Replaces, p.Restarts, p.Resizes, p.Connects, p.OneByOne = u.Replaced, u.Restarted, u.Grown, u.Moved, oneByOne(strategy)
	if of.Spec.DeletionPolicy == v1alpha1.DeletionRetain {
		p.Replaces = 0
		wait(u.Replaced, " an older revision: only another VM could be like spec, and spec.deletionPolicy is Retain")
	}
	wait(u.Kept, " the size until spec.updateStrategy.maxUnavailable is 1: no VM is added to make up for one that restarts, "+
		"since spec.deletionPolicy is Retain")
	if p.Replaces+p.Restarts > 0 {
		p.Surge = int(u.Surge)
	}
	wait(u.Pending, " the size until powered off: it cannot change while a VM runs, and spec.updateStrategy.resize is Hot")
}

// oneByOne reports whether the VMs of an update change one at a time.
func oneByOne(strategy v1alpha1.UpdateStrategy) bool {
	one := func(v *intstr.IntOrString, is int32) bool { return v == nil || v.Type == intstr.Int && v.IntVal <= is }
	return one(strategy.MaxSurge, 1) && one(strategy.MaxUnavailable, 0) || strategy.MaxSurge != nil && one(strategy.MaxSurge, 0) && one(strategy.MaxUnavailable, 1)
}

func inTurn(n int, p inquiry.Plan) string {
	if n > 1 && p.OneByOne {
		return " one by one"
	}
	return ""
}

// enumerate lists as many names as fit into a warning.
func enumerate(names []string) string {
	const room = 120
	length := 0
	for i, name := range names {
		if length += len(name); length > room && i > 0 {
			return strings.Join(names[:i], ", ") + fmt.Sprintf(" and %d more", len(names)-i)
		}
	}
	return strings.Join(names, ", ")
}

func join(phrases []string) string {
	if len(phrases) < 2 {
		return strings.Join(phrases, "")
	}
	last := len(phrases) - 1
	return strings.Join(phrases[:last], ", ") + " and " + phrases[last]
}
