package webhook

import (
	"fmt"
	"slices"
	"strings"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
)

// told are the reasons for which a plan waits that the person who sends the object can do something about, or should know.
var told = []string{
	v1alpha1.ReasonPaused, v1alpha1.ReasonMemberPaused, v1alpha1.ReasonInvalidSpec, v1alpha1.ReasonNotSupported,
	v1alpha1.ReasonNotATemplate, v1alpha1.ReasonTemplateAmbiguous, v1alpha1.ReasonPlacementNotFound,
	v1alpha1.ReasonPlacementAmbiguous, v1alpha1.ReasonUserDataNotFound, v1alpha1.ReasonLegacyObject,
}

// forecast says in sentences what the operator does for a change of old, nil for a new group, into group. It says nothing
// of a new group whose VMs can be made: the object says so itself.
func forecast(old, group *v1alpha1.VmGroup, p plan.Plan) []string {
	var sentences []string
	if old != nil {
		if does := effects(old, group, p); len(does) > 0 {
			sentences = append(sentences, "this change "+join(does))
		}
		if plan.Revision(old.Spec) != plan.Revision(group.Spec) && len(p.Outdated) > 0 {
			// What edits do to VMs that exist is not built yet.
			sentences = append(sentences, fmt.Sprintf("%s an older revision until replaced: existing VMs are not changed", keep(len(p.Outdated))))
		}
	}
	for _, blocker := range p.Blockers {
		if slices.Contains(told, blocker.Reason) {
			sentences = append(sentences, blocker.Message)
		}
	}
	return sentences
}

// effects are what happens to VMs, as phrases.
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
	if leaving := namesLeaving(old, p); len(leaving) > 0 {
		switch group.Spec.DeletionPolicy {
		case v1alpha1.DeletionRecycle: // a blocker says that it is not built
		case v1alpha1.DeletionRetain:
			does = append(does, "releases "+vms(len(leaving))+" (kept in vCenter): "+enumerate(leaving))
		default:
			does = append(does, "removes "+vms(len(leaving))+": "+enumerate(leaving))
		}
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

// namesLeaving are the VMs that this change makes leave, by ordinal. Others were on their way before.
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

// enumerate lists names as far as they fit into a warning.
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
