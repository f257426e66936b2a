package group

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// adoptsLegacy reports whether the VMs of the original operator are to be taken over.
func (s *Snapshot) adoptsLegacy() bool { return s.Adoption != nil && s.Adoption.Legacy }

// legacyCandidates are the VMs in the folder that the hub grants, and those that were claimed there and moved since. Those that carry nothing get ordinals in
// the order in which they were made.
func (s *Snapshot) legacyCandidates() (all []plan.Candidate) {
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
		case !found[i].Marked:
			all = append(all, plan.Candidate{VM: vm, Origin: vsphere.Origin{Folder: a.Answer.Folder.Folder}, Ordinal: next, Revision: s.revisionOf(&vm)})
			next++
		case mark != nil && mark.SameGroup(a.id(s.ID)) && mark.Namespace == s.Group.Namespace && len(a.genuine([]vsphere.VM{vm})) > 0:
			all = append(all, claimed(vm))
		}
	}
	return all
}

// revisionOf is the revision of a VM that carries none: that of the spec, as far as the VM shows what it was made of. One of another size is
// outdated, as after an edit. Template, placement and user data cannot be seen of a VM.
func (s *Snapshot) revisionOf(vm *vsphere.VM) string {
	spec := s.Group.Spec
	spec.CPU, spec.Memory = vm.CPU, int32(sizeOf(vm).memory)
	return plan.Revision(spec)
}

// LegacyNotGranted says that no folder is granted, and what to ask for.
func (s *Snapshot) LegacyNotGranted() *plan.Blocker {
	return &plan.Blocker{Reason: v1alpha1.ReasonAdoptionNotAllowed, Terminal: true, Message: fmt.Sprintf(
		"The hub grants no folder of VCenter %q to this VmGroup, so its VMs of the original operator are left untouched, and none is cloned. The platform team adds to spec.legacyFolders of VCenter %q "+
			"the folder that they lie in: {folder: vm-operator/%s-%s, memberCluster: %s, namespace: %s, group: %s}",
		s.VCenter, s.VCenter, s.Group.Namespace, s.Group.Name, s.Member, s.Group.Namespace, s.Group.Name)}
}

// LegacyFolderProblem says that the folder cannot be used.
func (s *Snapshot) LegacyFolderProblem(folder string, err error) *plan.Blocker {
	if vsphere.KindOf(err) != vsphere.KindNotFound {
		return waits(fmt.Sprintf("Folder %s with the VMs of the original operator cannot be read: %v", folder, err))
	}
	return &plan.Blocker{Reason: v1alpha1.ReasonAdoptionRefused, Terminal: true, Message: fmt.Sprintf(
		"The folder that spec.legacyFolders of VCenter %q grants to this VmGroup does not exist, so no VM is taken over, and none is cloned: %v. The platform team corrects it", s.VCenter, err)}
}

// LegacyFolderTwice says that a folder is granted to more than one group.
func (s *Snapshot) LegacyFolderTwice(folder string) *plan.Blocker {
	return &plan.Blocker{Reason: v1alpha1.ReasonAdoptionRefused, Terminal: true, Message: fmt.Sprintf(
		"spec.legacyFolders of VCenter %q names folder %s more than once, so nobody knows whose the VMs in it are, and none is taken over. The platform team leaves one entry", s.VCenter, folder)}
}
