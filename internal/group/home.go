package group

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Home returns the folder of the group, given the observation of the recorded folder, or the zero Ref.
//
// A record can be wrong: it can be from another vCenter, where the reference is another folder's, or written by hand. It counts in these cases only:
//
//   - The folder has the group's own name and lies among those of its namespace.
//   - The folder holds VMs of the group: then a person renamed or moved it.
//   - The folder is not visible now.
//   - The folder is outside of the root folder while VMs of the group are outside as well: they were possibly moved with it.
//   - The folder is of the group's namespace and has an unreadable VM, which can be the group's.
//
// A folder of another namespace or member never counts without a VM of the group in it, even if its content is unknown. Its content is not reported either.
//
// Without a valid record, the home is the folder of the group's VMs. If there are none, it is the folder at the group's path, which was created but not recorded.
func (s *Snapshot) Home(seen vsphere.Observation) vsphere.Ref {
	recorded, leaf := s.FolderRef(), FolderName(s.Group.Name, s.Group.UID)
	if recorded.IsZero() && !seen.Complete || !recorded.IsZero() && s.keeps(seen) {
		return recorded
	}
	var home vsphere.Ref
	lived := map[vsphere.Ref]int{}
	for i := range seen.VMs {
		vm := &seen.VMs[i]
		switch {
		case !recorded.IsZero() && vm.Folder == recorded && s.stamped(*vm):
			return recorded
		case seen.Complete && s.cloned(vm):
			lived[vm.Folder]++
			if n := lived[vm.Folder] - lived[home]; home.IsZero() || n > 0 || n == 0 && vm.Folder.Value < home.Value {
				home = vm.Folder
			}
		}
	}
	if recorded.IsZero() && seen.Folder.Name == leaf && !slices.ContainsFunc(seen.VMs, s.stamped) {
		return seen.Folder.Ref
	}
	return home
}

// keeps reports whether the recorded folder counts although no VM of the group is visible in it.
func (s *Snapshot) keeps(seen vsphere.Observation) bool {
	known := seen.Folder.Name != "" && (!seen.FolderElsewhere || len(seen.Elsewhere) == 0)
	return !s.strange(seen) && !s.Occupied(seen) && (!seen.Complete || !known || seen.Undetermined() || seen.Folder.Name == FolderName(s.Group.Name, s.Group.UID))
}

// strange reports whether the recorded folder lies among those of another namespace or member.
func (s *Snapshot) strange(seen vsphere.Observation) bool {
	return seen.Folder.Name != "" && !seen.FolderElsewhere && !s.neighbor(seen.Folder.Place)
}

// Occupied reports whether the folder has the group's own name and holds VMs of a group of another member, and none of this group. A MemberCluster can have the former name of
// another one, whose folders stay in place, and its API server can return any UID.
func (s *Snapshot) Occupied(seen vsphere.Observation) bool {
	others := false
	for i := range seen.VMs {
		switch vm := &seen.VMs[i]; {
		case vm.Stamp == nil || seen.Folder.Ref.IsZero() || vm.Folder != seen.Folder.Ref:
		case s.stamped(*vm):
			return false
		case vm.Stamp.Member != s.ID.Member && FolderName("", types.UID(vm.Stamp.Group)) == FolderName("", s.Group.UID):
			others = true
		}
	}
	return others
}

// folderTaken reports whether the folder at the group's path belongs to another group. Otherwise it would be the group's home.
func (s *Snapshot) folderTaken() bool {
	return s.FolderRef().IsZero() && s.Observation.Complete && s.Observation.Folder.Name == FolderName(s.Group.Name, s.Group.UID)
}

// neighbor reports whether a folder lies among those of the group's namespace. The API server of a member can return any namespace, so the namespace is compared with the exact
// name of one folder.
func (s *Snapshot) neighbor(place vsphere.FolderPath) bool {
	return place.Member == s.Member && place.Namespace == s.Group.Namespace
}

// NamesOfOthers returns the folder or VM in status that belongs to another group, by the observation of that folder and those VMs. It returns "" if there is none.
func (s *Snapshot) NamesOfOthers(seen vsphere.Observation) string {
	if s.strange(seen) && s.Home(seen) != s.FolderRef() {
		return fmt.Sprintf("folder %s (%s), which is of another namespace or member", untrusted.Name(seen.Folder.Path), seen.Folder.Ref.Value)
	}
	for i := range seen.VMs {
		vm := &seen.VMs[i]
		if vm.Stamp != nil && !s.stamped(*vm) && !s.adopts(vm) && slices.ContainsFunc(s.Group.Status.VMs, func(r v1alpha1.VMStatus) bool { return r.MoRef == vm.Ref.Value }) {
			return fmt.Sprintf("VM %s (%s), which carries the stamp of another group", untrusted.Name(vm.Name), vm.Ref.Value)
		}
	}
	return ""
}

// adopts reports whether a VM carries the stamp of the group whose VMs are to be adopted.
func (s *Snapshot) adopts(vm *vsphere.VM) bool {
	return s.Adoption != nil && vm.Stamp.SameGroup(s.Adoption.id(s.ID))
}

// cloned reports whether a VM looks like a clone of this group, in any folder. A manual copy has another name or UUID.
func (s *Snapshot) cloned(vm *vsphere.VM) bool {
	stamp := vm.Stamp
	return s.stamped(*vm) && vm.Name == plan.VMName(s.Group.Name, stamp.Ordinal) && plan.Genuine(vm)
}

// Housed reports whether the observation is of the group's vCenter: it shows the group's folder or VMs.
func (s *Snapshot) Housed(seen vsphere.Observation) bool {
	return seen.Folder.Name == FolderName(s.Group.Name, s.Group.UID) || slices.ContainsFunc(seen.VMs, func(vm vsphere.VM) bool { return s.cloned(&vm) })
}

// Remembers reports whether status names a VM, or a clone in flight.
func (s *Snapshot) Remembers() bool { return len(s.Group.Status.VMs) > 0 }

// IsNew reports whether nothing was created for a group yet, according to status, and the group is not being deleted.
func IsNew(group *v1alpha1.VmGroup) bool {
	return group.Status.Folder == nil && len(group.Status.VMs) == 0 && group.DeletionTimestamp.IsZero()
}

// homeless reports whether there are VMs with the group's stamp, but the folder that distinguishes the group's VMs from copies is unknown: a person cleared status.
func (s *Snapshot) homeless() bool {
	return s.FolderRef().IsZero() && s.Observation.Complete && slices.ContainsFunc(s.Observation.VMs, s.stamped)
}

// stamped reports whether a VM carries the group's stamp.
func (s *Snapshot) stamped(vm vsphere.VM) bool { return vm.Stamp != nil && vm.Stamp.SameGroup(s.ID) }

// lost holds a homeless group.
func (s *Snapshot) lost() Decision {
	if s.Paused != nil {
		return s.blocked(*s.Paused, 0)
	}
	var names []string
	for _, vm := range s.Observation.VMs {
		if s.stamped(vm) {
			names = append(names, fmt.Sprintf("%s (%s)", untrusted.Name(vm.Name), vm.Ref.Value))
		}
	}
	return s.blocked(plan.Blocker{Reason: v1alpha1.ReasonCopiedStamps, Terminal: true, Brief: fmt.Sprintf(
		"%s: may be copies, because status does not record the folder of this group", list(names, 1)), Message: fmt.Sprintf(
		"VMs carry the stamp of this group, and status does not record its folder: %s. None has the name and the instance UUID of a clone of "+
			"this group, so they may be copies. Nothing is done with them, and none is cloned. A hub administrator can tell: if they are copies, remove the vmgroup.* keys from their "+
			"configuration or delete them; if they are the group's, set status.folder.moRef to the folder that they are in (kubectl edit vmgroup %s -n %s --subresource=status)",
		list(names, 10), s.Group.Name, s.Group.Namespace)}, 0)
}
