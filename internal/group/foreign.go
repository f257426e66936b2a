package group

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// shownFolder returns the group's folder for status. Any vCenter user can have renamed it.
func shownFolder(folder *v1alpha1.FolderStatus) *v1alpha1.FolderStatus {
	if folder == nil {
		return nil
	}
	if shown := untrusted.Text(folder.Path, maxPath); shown != folder.Path {
		return &v1alpha1.FolderStatus{Path: shown, MoRef: folder.MoRef}
	}
	return folder
}

// describeForeign names VMs that are not the group's, with the remedy.
func describeForeign(foreign []plan.Foreign, folder *v1alpha1.FolderStatus) (reason, message string) {
	var copies, back, released, strangers []string
	conflict := false
	for _, vm := range foreign {
		conflict = conflict || (vm.TakesName && !vm.Released && !vm.Back)
		label := fmt.Sprintf("%s (%s)", untrusted.Name(vm.Name), vm.MoRef)
		switch {
		case vm.Copy:
			copies = append(copies, label)
		case vm.Back:
			back = append(back, label)
		case vm.Released:
			released = append(released, label)
		default:
			strangers = append(strangers, label)
		}
	}
	path := ""
	if folder != nil {
		path = " " + untrusted.Name(folder.Path)
	}
	var parts []string
	if len(copies) > 0 {
		reason = v1alpha1.ReasonCopiedStamps
		parts = append(parts, fmt.Sprintf("copies of this group's VMs carry its stamp: %s; a hub administrator can remove the vmgroup.* keys from their configuration, or delete them", list(copies, 10)))
	}
	if len(strangers) > 0 {
		reason = v1alpha1.ReasonUnstampedVMs
		parts = append(parts, fmt.Sprintf("VMs that are not this group's are in its folder%s: %s; a hub administrator can move them out", path, list(strangers, 10)))
	}
	if len(released) > 0 {
		reason = cmp.Or(reason, v1alpha1.ReasonUnstampedVMs)
		parts = append(parts, fmt.Sprintf("VMs that this group retained are in its folder%s: %s; their names are not used again before a hub administrator moves them out", path, list(released, 10)))
	}
	if len(back) > 0 {
		reason = v1alpha1.ReasonReturnedVMs
		parts = append(parts, fmt.Sprintf("VMs of this group came back after others had replaced them: %s; make sure that they do not run with the addresses of other VMs. To have them in the group again, "+
			"raise spec.replicas by %d; otherwise a hub administrator can delete them. If this VmGroup is deleted, spec.deletionPolicy applies to them, too", list(back, 10), len(back)))
	}
	if conflict {
		reason = v1alpha1.ReasonNameConflict
	}
	end := ". The operator never touches them"
	if len(back) > 0 {
		end = ". Apart from that, the operator never touches these VMs"
	}
	return reason, strings.Join(parts, ". ") + end
}
