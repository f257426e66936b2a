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

// Home returns the folder of the group, given what is observed with the one that status records, or the zero Ref.
//
// A record may be from another vCenter, where the reference is another folder's, or written by hand. So it counts only for a folder of
// the group's own name among those of its namespace, or for one that holds VMs of the group: then somebody renamed or moved it. A folder that
// is not seen now keeps its record, and so does one outside of the root folder while VMs of the group are outside as well: they may have gone
// with it, and one of its namespace with a VM in it that nobody can look into: that may be the group's. A folder of another namespace or
// member never counts without a VM of the group in it, whatever else is unknown: what is in it is not even told.
// Without a record that counts, the group is at home where its VMs are, else in the folder that has its path: that was made, and not
// recorded yet.
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

// keeps reports whether the recorded folder counts though no VM of the group is seen in it.
func (s *Snapshot) keeps(seen vsphere.Observation) bool {
	known := seen.Folder.Name != "" && (!seen.FolderElsewhere || len(seen.Elsewhere) == 0)
	return !s.strange(seen) && !s.Occupied(seen) && (!seen.Complete || !known || seen.Undetermined() || seen.Folder.Name == FolderName(s.Group.Name, s.Group.UID))
}

// strange reports whether the recorded folder lies among those of another namespace or member.
func (s *Snapshot) strange(seen vsphere.Observation) bool {
	return seen.Folder.Name != "" && !seen.FolderElsewhere && !s.neighbor(seen.Folder.Place)
}

// Occupied reports whether the folder has the group's own name and holds VMs of a group of another member, and none of this one. A MemberCluster can have the former
// name of another one, whose folders stay where they are, and its API server can show any UID.
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

// folderTaken reports whether the folder at the path of the group's is that of another group: the group has none, and would be at home there.
func (s *Snapshot) folderTaken() bool {
	return s.FolderRef().IsZero() && s.Observation.Complete && s.Observation.Folder.Name == FolderName(s.Group.Name, s.Group.UID)
}

// neighbor reports whether a folder lies among those of the group's namespace. The API server of a member can show any namespace, so its text is compared with
// the name of one folder, as it is.
func (s *Snapshot) neighbor(place vsphere.FolderPath) bool {
	return place.Member == s.Member && place.Namespace == s.Group.Namespace
}

// NamesOfOthers says which folder or VM status names that is another's, by what is observed with the folder and the VMs that it names; empty
// if there is none.
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

// adopts reports whether a VM carries the stamp of the group whose VMs are to be taken over.
func (s *Snapshot) adopts(vm *vsphere.VM) bool {
	return s.Adoption != nil && vm.Stamp.SameGroup(s.Adoption.id(s.ID))
}

// cloned reports whether a VM is what a clone of this group looks like, wherever it is. A copy that somebody made has another name or UUID.
func (s *Snapshot) cloned(vm *vsphere.VM) bool {
	stamp := vm.Stamp
	return s.stamped(*vm) && vm.Name == plan.VMName(s.Group.Name, stamp.Ordinal) && plan.Genuine(vm)
}

// Housed reports whether this is seen of the vCenter that the group is in: it has its folder, or VMs of it.
func (s *Snapshot) Housed(seen vsphere.Observation) bool {
	return seen.Folder.Name == FolderName(s.Group.Name, s.Group.UID) || slices.ContainsFunc(seen.VMs, func(vm vsphere.VM) bool { return s.cloned(&vm) })
}

// Remembers reports whether status names a VM, or one that is being cloned.
func (s *Snapshot) Remembers() bool { return len(s.Group.Status.VMs) > 0 }

// IsNew reports whether nothing was made for a group yet, as far as status says, and nothing is to be taken away.
func IsNew(group *v1alpha1.VmGroup) bool {
	return group.Status.Folder == nil && len(group.Status.VMs) == 0 && group.DeletionTimestamp.IsZero()
}

// homeless reports whether there are VMs with the group's stamp, and nobody knows the folder that tells which of them are the group's
// and which are copies: somebody wiped status.
func (s *Snapshot) homeless() bool {
	return s.FolderRef().IsZero() && s.Observation.Complete && slices.ContainsFunc(s.Observation.VMs, s.stamped)
}

// stamped reports whether a VM carries the group's stamp.
func (s *Snapshot) stamped(vm vsphere.VM) bool { return vm.Stamp != nil && vm.Stamp.SameGroup(s.ID) }

// lost holds a group that is homeless.
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
			"this group, so they may be copies. Nothing is done with them, and none is cloned. The platform team can tell: if they are copies, remove the vmgroup.* keys from their "+
			"configuration or delete them; if they are the group's, set status.folder.moRef to the folder that they are in (kubectl edit vmgroup %s -n %s --subresource=status)",
		list(names, 10), s.Group.Name, s.Group.Namespace)}, 0)
}
