package webhook

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
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
	p := preview.Plan
	var sentences []string
	if old != nil {
		does := effects(old, group, p)
		switch {
		case preview.Update.VMs() == 0 || !updatesOtherwise(old, group, preview.Update):
		case preview.Held != nil:
			sentences = append(sentences, keep(preview.Update.VMs())+" an older revision: the operator holds the group at what was admitted before until spec complies; see condition PolicyCompliant")
		default:
			more, waits := updates(group, preview.Update)
			does, sentences = append(does, more...), append(sentences, waits...)
		}
		if len(does) > 0 {
			sentences = append([]string{"this change " + join(does)}, sentences...)
		}
	}
	for _, blocker := range p.Blockers {
		if slices.Contains(told, blocker.Reason) {
			sentences = append(sentences, blocker.Message)
		}
	}
	return sentences
}

// notDone returns a sentence about an accepted edit of the shape that the operator does not carry out: the edit makes nothing worse. It returns "" if the
// forecast covers that.
func notDone(old, group *v1alpha1.VmGroup, preview Preview) string {
	if old == nil || !preview.NotDone || preview.Held != nil && preview.Update.VMs() > 0 || plan.Revision(old.Spec) == plan.Revision(group.Spec) {
		return ""
	}
	return "this change is accepted, and not carried out until spec complies; see condition PolicyCompliant"
}

func effects(old, group *v1alpha1.VmGroup, p plan.Plan) []string {
	var does []string
	count := map[plan.ActionKind]int{}
	for _, action := range p.Actions {
		if !slices.Contains(p.Doomed, action.Ordinal) {
			count[action.Kind]++
		}
	}
	if n := count[plan.CreateVM]; n > 0 {
		does = append(does, "adds "+vms(n))
	}
	if leave := leaving(old, group, p); leave != "" {
		does = append(does, leave)
	}
	if old.Spec.PowerState != group.Spec.PowerState {
		if n := count[plan.PowerOffVM] + count[plan.ShutdownGuest]; n > 0 {
			does = append(does, "powers off "+vms(n))
		}
		if n := count[plan.PowerOnVM]; n > 0 {
			does = append(does, "powers on "+vms(n))
		}
	}
	return does
}

// leaving returns what happens to VMs that are to be removed, as a phrase, or "".
func leaving(old, group *v1alpha1.VmGroup, p plan.Plan) string {
	names := namesLeaving(old, p)
	switch {
	case len(names) == 0:
		return ""
	case group.Spec.DeletionPolicy == v1alpha1.DeletionRetain:
		return "retains " + vms(len(names)) + " (kept in vCenter): " + enumerate(names)
	}
	return "removes " + vms(len(names)) + ": " + enumerate(names)
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

// updates returns the effects on existing VMs that do not match spec, as phrases. waits are sentences about VMs that do not change automatically.
func updates(of *v1alpha1.VmGroup, u group.Foretold) (does, waits []string) {
	strategy := strategyOf(of.Spec)
	switch {
	case !u.Known:
		return nil, []string{keep(u.VMs()) + " an older revision: status does not have their shape; a new value of spec.updateStrategy.replaceTrigger replaces all VMs"}
	case stopped(strategy, u):
		return nil, []string{keep(u.VMs()) + " an older revision: the update was stopped, since as many VMs did not become ready as spec.updateStrategy.maxFailures allows"}
	case strategy.Type == v1alpha1.UpdateOnDelete:
		return nil, []string{keep(u.VMs()) + " an older revision until deleted: spec.updateStrategy.type is OnDelete"}
	case strategy.Paused:
		return nil, []string{keep(u.VMs()) + " an older revision for now: spec.updateStrategy.paused is true"}
	}
	if n := u.Replaced; n > 0 && of.Spec.DeletionPolicy == v1alpha1.DeletionRetain {
		waits = append(waits, keep(n)+" an older revision: only another VM could be like spec, and spec.deletionPolicy is Retain")
	} else if n > 0 {
		does = append(does, "replaces "+vms(n)+inTurn(n, strategy))
	}
	if n := u.Kept; n > 0 {
		waits = append(waits, keep(n)+" the size until spec.updateStrategy.maxUnavailable is 1: no VM is added to make up for one that restarts, "+
			"since spec.deletionPolicy is Retain")
	}
	if n := u.Restarted; n > 0 {
		does = append(does, "restarts "+vms(n)+inTurn(n, strategy)+" to resize")
	}
	if n := u.Grown; n > 0 {
		does = append(does, "resizes "+vms(n)+" in place without a restart")
	}
	if n := u.Moved; n > 0 {
		does = append(does, "connects "+vms(n)+" to another network without a restart")
	}
	if u.Surge > 0 && len(does) > 0 && u.Replaced+u.Restarted > 0 {
		does = append(does, fmt.Sprintf("needs quota for %d more meanwhile", u.Surge))
	}
	if n := u.Pending; n > 0 {
		waits = append(waits, keep(n)+" the size until powered off: it cannot change while a VM runs, and spec.updateStrategy.resize is Hot")
	}
	return does, waits
}

// inTurn returns the phrase " one by one" if the VMs are updated one at a time.
func inTurn(n int, strategy v1alpha1.UpdateStrategy) string {
	one := func(v *intstr.IntOrString, is int32) bool { return v == nil || v.Type == intstr.Int && v.IntVal <= is }
	if n > 1 && one(strategy.MaxSurge, 1) && one(strategy.MaxUnavailable, 0) || n > 1 && strategy.MaxSurge != nil && one(strategy.MaxSurge, 0) && one(strategy.MaxUnavailable, 1) {
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
