package webhook

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/webhook/forecast"
)

// undoes reports whether the change sets spec back to the shape of existing VMs of the group, without adding VMs. An undo is never refused: a user
// who reverts an edit must get past policies that were created meanwhile. An undo grants nothing: the reconciler checks again, and clones no
// refused shape.
func undoes(old, group *v1alpha1.VmGroup, preview Preview) bool {
	return old != nil && preview.Standing > 0 && !grows(old, group) && plan.Revision(old.Spec) != plan.Revision(group.Spec)
}

// forgive turns errors about the shape of VMs into warnings, and reports whether there were any.
func (said *review) forgive(group *v1alpha1.VmGroup, standing int32) bool {
	var stays, forgiven field.ErrorList
	for _, err := range said.refused {
		if slices.Contains([]string{"spec.vcenter", "spec.deletionPolicy"}, err.Field) { // not part of a shape
			stays = append(stays, err)
		} else {
			forgiven = append(forgiven, err)
		}
	}
	if len(forgiven) == 0 || len(stays) > 0 {
		return false
	}
	said.refused = nil
	have, stay := fmt.Sprintf("%d VMs still have", standing), "These stay"
	if standing == 1 {
		have, stay = "1 VM still has", "It stays"
	}
	switch replicas := policy.UsageOf(group.Spec).VMs; {
	case replicas == 0:
		stay = "None stays, since spec.replicas is 0"
	case replicas < int64(standing):
		stay = fmt.Sprintf("At most %d of these stay, since spec.replicas is %d", replicas, replicas)
	}
	said.add(fmt.Sprintf("accepted, because %s revision %s. %s; VMs of other revisions are not changed, and none of this one is cloned, until spec is allowed again",
		have, plan.Revision(group.Spec), stay))
	for _, err := range forgiven {
		said.add(err.Error())
	}
	return true
}

// shrinks warns which VMs an undo removes if it decreases replicas. Other VMs do not change.
func (said *review) shrinks(old, group *v1alpha1.VmGroup, p plan.Plan) {
	was, now := policy.UsageOf(old.Spec).VMs, policy.UsageOf(group.Spec).VMs
	if now >= was {
		return
	}
	leave := forecast.Removes(old, group, p)
	switch {
	case leave.Removes > 0:
		said.tell(leave, false)
	case len(p.VMs) == 0, int64(len(p.VMs)-len(p.Doomed)) > now: // the VMs are unknown, or held for now
		said.add(fmt.Sprintf("this change lowers spec.replicas from %d to %d, and VMs leave; which ones cannot be said now", was, now))
	}
}
