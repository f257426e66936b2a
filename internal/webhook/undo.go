package webhook

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
)

// undoes reports whether the change sets spec back to what VMs of the group are, and asks for no more of them. An undo is never refused: who takes an
// edit back has to get past policies that came meanwhile. It gives nothing: the reconciler judges again, and clones nothing that is refused.
func undoes(old, group *v1alpha1.VmGroup, preview Preview) bool {
	return old != nil && preview.Standing > 0 && !grows(old, group) && plan.Revision(old.Spec) != plan.Revision(group.Spec)
}

// forgive makes warnings of what is refused of the shape of VMs, and returns whether there was any.
func (said *review) forgive(group *v1alpha1.VmGroup, standing int32) bool {
	var stays, forgiven field.ErrorList
	for _, err := range said.refused {
		if slices.Contains([]string{"spec.vcenter", "spec.deletionPolicy"}, err.Field) { // no part of a shape
			stays = append(stays, err)
		} else {
			forgiven = append(forgiven, err)
		}
	}
	if len(forgiven) == 0 || len(stays) > 0 {
		return false
	}
	said.refused = nil
	have := fmt.Sprintf("%d VMs still have", standing)
	if standing == 1 {
		have = "1 VM still has"
	}
	said.add(fmt.Sprintf("accepted, because %s revision %s. These stay; others are not changed, and no VM is cloned like them, until spec is allowed again",
		have, plan.Revision(group.Spec)))
	for _, err := range forgiven {
		said.add(err.Error())
	}
	return true
}
