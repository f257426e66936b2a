// Package orphans describes VMs whose VmGroup no longer exists: the VMs, their former groups, and the remedy. It is pure.
package orphans

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group/allowance"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

const (
	// maxGroups is the maximum number of groups in a message, and maxVMs the maximum number of VMs of each.
	maxGroups, maxVMs = 4, 4
	// uidPart is the number of characters of a group's UID in the name of its folder.
	uidPart = 8
)

// Group is a VmGroup that no longer exists.
type Group struct {
	Key vsphere.GroupKey
	// Member is the name of the MemberCluster of the group's cluster, or empty if there is none.
	Member string
	// Namespace and Name come from the folder of its VMs. They are empty if that is not the group's own folder.
	Namespace, Name string
	// VMs are its VMs with their references and folders.
	VMs []string
}

// Of sorts orphaned VMs by their former groups. path returns the inventory path of a folder, or "". member returns the name of the member with a
// cluster UID, or "".
func Of(vms []vsphere.VM, path func(vsphere.Ref) string, member func(clusterUID string) string) []Group {
	byKey := map[vsphere.GroupKey]*Group{}
	for _, vm := range vms {
		if vm.Stamp == nil {
			continue
		}
		key := vm.Stamp.Key()
		g := byKey[key]
		if g == nil {
			g = &Group{Key: key, Member: member(key.Member())}
			byKey[key] = g
		}
		name, at := fmt.Sprintf("%s (%s)", untrusted.Name(vm.Name), vm.Ref.Value), path(vm.Folder)
		if at, own := PlaceOf(at, key.Group()); own {
			g.Namespace, g.Name = at.Namespace, at.Name
		}
		if at != "" {
			name += " in " + untrusted.Name(at)
		}
		g.VMs = append(g.VMs, name)
	}
	out := make([]Group, 0, len(byKey))
	for _, g := range byKey {
		slices.Sort(g.VMs)
		out = append(out, *g)
	}
	slices.SortFunc(out, func(a, b Group) int { return cmp.Compare(a.Key, b.Key) })
	return out
}

// Place is the place of a group's folder, which identifies the group.
type Place struct{ Member, Namespace, Name string }

// PlaceOf reads the place of a group from the path of its folder: <root>/<member>/<namespace>/<group>.<first 8 of its UID>. For a folder with another
// group's name, own is false.
func PlaceOf(path, uid string) (at Place, own bool) {
	parts := strings.Split(path, "/")
	if len(parts) < 3 || len(uid) < uidPart {
		return Place{}, false
	}
	at.Name, own = strings.CutSuffix(parts[len(parts)-1], "."+uid[:uidPart])
	at.Namespace, at.Member = parts[len(parts)-2], parts[len(parts)-3]
	return at, own && at.Name != ""
}

// Count returns the number of VMs.
func Count(groups []Group) (vms int) {
	for _, g := range groups {
		vms += len(g.VMs)
	}
	return vms
}

// Describe names groups with their VMs.
func Describe(groups []Group) string {
	told := make([]string, 0, maxGroups+1)
	for _, g := range groups[:min(len(groups), maxGroups)] {
		vms := strings.Join(g.VMs[:min(len(g.VMs), maxVMs)], ", ")
		if more := len(g.VMs) - maxVMs; more > 0 {
			vms += fmt.Sprintf(" and %d more", more)
		}
		whose := "a VmGroup"
		if g.Name != "" {
			whose = fmt.Sprintf("VmGroup %s in namespace %s", untrusted.Name(g.Name), untrusted.Name(g.Namespace))
		}
		member := "of a cluster that no MemberCluster leads to (" + untrusted.Name(g.Key.Member()) + ")"
		if g.Member != "" {
			member = "of member " + g.Member
		}
		told = append(told, fmt.Sprintf("%s; they were of %s %s, UID %s", vms, whose, member, untrusted.Name(g.Key.Group())))
	}
	if more := len(groups) - maxGroups; more > 0 {
		told = append(told, fmt.Sprintf("and VMs of %d more VmGroups", more))
	}
	return strings.Join(told, ". ")
}

// WayOut explains how another group can adopt such VMs, or how to delete them.
func WayOut(groups []Group) string {
	member, uid := "MEMBER", "UID"
	for _, g := range groups {
		// A user types the UID into a shell, and users who can change the VM in vCenter can write it.
		if of := g.Key.Group(); g.Member != "" && untrusted.Plain(of) {
			member, uid = g.Member, of
			break
		}
	}
	return fmt.Sprintf("The operator does not change these VMs. To adopt VMs, create a VmGroup in the namespace that they were of, with the annotation %s=%s (the UID of the deleted VmGroup), once a hub administrator has allowed it: "+
		"%s. Delete in vCenter what is not needed", v1alpha1.AdoptAnnotation, uid, allowance.Command("membercluster", member, v1alpha1.AllowAdoptionAnnotation))
}
