package vmgroup

import (
	"context"
	"fmt"
	"strings"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// findLegacy reads afresh which VMs of the original operator lie in the folder that the hub grants to the group. A group that has taken its VMs over once needs
// no folder any more: the hub may have granted it to another group since, or somebody has deleted it. The error is one of the hub.
func (p *pass) findLegacy(ctx context.Context, s *group.Snapshot) (*group.AdoptionAnswer, error) {
	blocked := func(b *plan.Blocker) (*group.AdoptionAnswer, error) { return &group.AdoptionAnswer{Blocked: b}, nil }
	grants, err := p.legacyFolders(ctx, s)
	if err != nil {
		return nil, err
	}
	nothing, over := &group.AdoptionAnswer{Folder: &vsphere.FolderContent{}}, s.Group.Status.AdoptedFrom == s.Adoption.From
	folder := ""
	for i := range grants {
		if g := &grants[i]; g.MemberCluster == s.Member && g.Namespace == s.Group.Namespace && g.Group == s.Group.Name {
			folder = g.Folder
		}
	}
	switch {
	case folder == "" && over:
		return nothing, nil
	case folder == "":
		return blocked(s.LegacyNotGranted())
	}
	twice := 0
	for i := range grants {
		if v1alpha1.SameLegacyFolder(grants[i].Folder, folder) {
			twice++
		}
	}
	if twice > 1 {
		return blocked(s.LegacyFolderTwice(folder))
	}
	content, err := p.server.ReadFolder(ctx, folder)
	switch {
	case over && vsphere.KindOf(err) == vsphere.KindNotFound:
		return nothing, nil
	case err != nil:
		return blocked(s.LegacyFolderProblem(folder, err))
	}
	return &group.AdoptionAnswer{Folder: &content}, nil
}

// legacyFolders are the folders that the group's VCenter grants, and those that others grant which lead to the same vCenter: whatever says whose
// VMs are in a folder.
func (p *pass) legacyFolders(ctx context.Context, s *group.Snapshot) (all []v1alpha1.LegacyFolder, err error) {
	var vcenters v1alpha1.VCenterList
	if err := p.r.Hub.List(ctx, &vcenters); err != nil {
		return nil, fmt.Errorf("read VCenters from the hub: %w", err)
	}
	for i := range vcenters.Items {
		if vc := &vcenters.Items[i]; vc.Name == s.VCenter {
			all = append(all, vc.Spec.LegacyFolders...)
		} else if here := s.Observation.InstanceUUID; here != "" && strings.EqualFold(vc.Status.InstanceUUID, here) {
			for _, other := range vc.Spec.LegacyFolders {
				other.MemberCluster = "" // it is no grant to anybody here
				all = append(all, other)
			}
		}
	}
	return all, nil
}

// markOfLegacy is what a VM of the original operator is marked with until it carries the group's stamp.
func markOfLegacy(s *group.Snapshot, action plan.Action) vsphere.ReleaseMark {
	id := s.ID
	id.Group = s.Adoption.From
	return vsphere.ReleaseMark{GroupID: id, Namespace: s.Group.Namespace, Ordinal: action.Ordinal, Revision: action.Revision, UUID: action.UUID}
}
