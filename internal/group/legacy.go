package group

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// abandonsOwn keeps the VMs of a group that is being deleted and was to adopt those of the original operator. Annotation adopt=abandon leaves VMs to the user, but VMs that are
// adopted already would be destroyed. It returns nil for any other group.
func (s *Snapshot) abandonsOwn() *plan.Blocker {
	if !s.deleting() || s.releases() || s.confirmed() || !slices.Contains(s.Group.Finalizers, v1alpha1.VmGroupFinalizer) || s.hasNone() {
		return nil
	}
	return &plan.Blocker{Reason: v1alpha1.ReasonLegacyObject, Terminal: true, Message: fmt.Sprintf(
		"annotation %s=%s leaves the VMs of the original operator to you, but this VmGroup has VMs of its own already. The VmGroup is being deleted and keeps its VMs until you decide. "+
			"To keep the VMs: %s. To destroy the VMs: %s", v1alpha1.AdoptAnnotation, v1alpha1.AdoptAbandon, s.toKeep(), s.annotate(v1alpha1.ConfirmDeletionAnnotation))}
}

// hasNone reports whether the group certainly has no VM. An empty status alone is no proof, because it can have been cleared or restored.
func (s *Snapshot) hasNone() bool {
	return len(s.Group.Status.VMs) == 0 && s.existing() == 0 && len(s.leaving) == 0 && (s.Observation.Complete || s.neverActed())
}

// adoptsLegacy reports whether the VMs of the original operator are to be adopted.
func (s *Snapshot) adoptsLegacy() bool { return s.Adoption != nil && s.Adoption.Legacy }

const (
	// legacyInfix and legacyLetters lower-case letters follow the group's name in the VM names of the original operator.
	legacyInfix   = "-replica-"
	legacyLetters = 8
)

// legacyName reports whether the original operator gave this name to a VM of the group. The part after the group's name has a fixed length and ends without a dash, so that no
// name belongs to two groups. vCenter escapes none of its characters, and keeps its case.
func legacyName(group, name string) bool {
	letters, found := strings.CutPrefix(name, group+legacyInfix)
	return found && len(letters) == legacyLetters && !strings.ContainsFunc(letters, func(c rune) bool { return c < 'a' || c > 'z' })
}

// legacyCandidates returns the VMs of this group that the original operator made. They lie in the folder that the hub grants, or were claimed there and moved since. Unmarked VMs
// get ordinals in order of creation, and the revision of spec with their own size: a VM of another size is outdated, as after an edit. Folders of the original operator have
// ambiguous names, and two groups can share one. strangers has the names of the unmarked VMs in the folder whose names do not match the group.
func (s *Snapshot) legacyCandidates() (all []plan.Candidate, strangers []string) {
	a := s.Adoption
	claimed := func(vm vsphere.VM) plan.Candidate {
		mark := *vm.Released
		return plan.Candidate{VM: vm, Origin: vsphere.Origin{Released: &mark, Folder: a.Answer.Folder.Folder}, Ordinal: mark.Ordinal, Revision: mark.Revision}
	}
	moved := a.genuine(a.released(s.Group.Namespace))
	for _, vm := range moved {
		all = append(all, claimed(vm))
	}
	found := slices.Clone(a.Answer.Folder.VMs)
	slices.SortFunc(found, func(a, b vsphere.FoundVM) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Ref.Value, b.Ref.Value))
	})
	next := int32(0)
	for i := range found {
		vm := found[i].VM
		switch mark := vm.Released; {
		case vm.IsTemplate, slices.ContainsFunc(moved, func(m vsphere.VM) bool { return m.Ref == vm.Ref }):
		case !found[i].Marked && !legacyName(s.Group.Name, vm.Name):
			strangers = append(strangers, untrusted.Name(vm.Name))
		case !found[i].Marked:
			all = append(all, plan.Candidate{VM: vm, Origin: vsphere.Origin{Folder: a.Answer.Folder.Folder}, Ordinal: next, Revision: sizedAs(plan.ShapeOf(s.Group.Spec), &vm).Revision})
			next++
		case mark != nil && mark.SameGroup(a.id(s.ID)) && mark.Namespace == s.Group.Namespace && len(a.genuine([]vsphere.VM{vm})) > 0:
			all = append(all, claimed(vm))
		}
	}
	return all, strangers
}

// strangers returns the names of the VMs in the granted folder that get no action, because their names do not match the group.
func (s *Snapshot) strangers() []string {
	if !s.adoptsLegacy() || s.Adoption.Answer == nil || s.Adoption.Answer.Folder == nil {
		return nil
	}
	_, strangers := s.legacyCandidates()
	return strangers
}

// onlyStrangers reports that no VM in the folder has a name of the group: a user renamed the VMs, or an administrator
// granted the wrong folder. A group that has VMs has already adopted the existing ones.
func (s *Snapshot) onlyStrangers(candidates []plan.Candidate, strangers []string) *plan.Blocker {
	if len(candidates) > 0 || len(strangers) == 0 || s.existing() > 0 {
		return nil
	}
	return &plan.Blocker{Reason: v1alpha1.ReasonAdoptionRefused, Terminal: true, Brief: fmt.Sprintf(
		"VCenter %q: no VM in the folder of spec.legacyFolders has a name of this VmGroup", s.VCenter), Message: fmt.Sprintf(
		"No VM in the folder that spec.legacyFolders of VCenter %q grants to this VmGroup is called %s, as the original operator called its VMs, so none is adopted, and none is cloned. Others are there: %s. "+
			"If VMs of this VmGroup were renamed, a hub administrator renames them back; if the folder is the wrong one, the administrator corrects the entry. To do without them: kubectl annotate vmgroup %s -n %s --overwrite %s=%s",
		s.VCenter, legacyForm(s.Group.Name), list(strangers, maxStrangers), s.Group.Name, s.Group.Namespace, v1alpha1.AdoptAnnotation, v1alpha1.AdoptAbandon)}
}

// maxStrangers is the maximum number of strangers in a message.
const maxStrangers = 8

// legacyForm describes the VM names that the original operator gave to the group.
func legacyForm(group string) string {
	return fmt.Sprintf("%s%s<%d letters a-z>", group, legacyInfix, legacyLetters)
}

// leftToStrangers reports VMs in the folder that get no action.
func leftToStrangers(group string, strangers []string) string {
	if len(strangers) == 0 {
		return ""
	}
	return fmt.Sprintf(" %s in the granted folder not called %s, as the original operator called this VmGroup's, and left alone: %s. "+
		"If one is this VmGroup's, rename it so in vCenter, and raise spec.replicas if all others are there.", are(int32(len(strangers))), legacyForm(group), list(strangers, maxStrangers))
}

// LegacyNotGranted reports that no folder is granted, and what to request.
func (s *Snapshot) LegacyNotGranted() *plan.Blocker {
	return &plan.Blocker{Reason: v1alpha1.ReasonAdoptionNotAllowed, Terminal: true, Brief: fmt.Sprintf(
		"VCenter %q: spec.legacyFolders grants no folder to this VmGroup", s.VCenter), Message: fmt.Sprintf(
		"The hub grants no folder of VCenter %q to this VmGroup, so its VMs of the original operator are left untouched, and none is cloned. A hub administrator adds to spec.legacyFolders of VCenter %q "+
			"the folder that they lie in: {folder: vm-operator/%s-%s, memberCluster: %s, namespace: %s, group: %s}",
		s.VCenter, s.VCenter, s.Group.Namespace, s.Group.Name, s.Member, s.Group.Namespace, s.Group.Name)}
}

// LegacyFolderProblem reports that the folder cannot be used.
func (s *Snapshot) LegacyFolderProblem(folder string, err error) *plan.Blocker {
	if vsphere.KindOf(err) != vsphere.KindNotFound {
		return waits(fmt.Sprintf("Folder %s with the VMs of the original operator cannot be read: %v", folder, err))
	}
	return &plan.Blocker{Reason: v1alpha1.ReasonAdoptionRefused, Terminal: true, Brief: fmt.Sprintf(
		"VCenter %q: the folder of spec.legacyFolders for this VmGroup does not exist", s.VCenter), Message: fmt.Sprintf(
		"The folder that spec.legacyFolders of VCenter %q grants to this VmGroup does not exist, so no VM is adopted, and none is cloned: %v. A hub administrator corrects it", s.VCenter, err)}
}

// LegacyFolderTwice reports that a folder is granted to more than one group.
func (s *Snapshot) LegacyFolderTwice(folder string) *plan.Blocker {
	return &plan.Blocker{Reason: v1alpha1.ReasonAdoptionRefused, Terminal: true, Message: fmt.Sprintf(
		"spec.legacyFolders of VCenter %q names folder %s more than once, so the owner of the VMs in it is unknown, and no VM is adopted. A hub administrator keeps one entry", s.VCenter, folder)}
}
