package vmgroup

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// findLegacy reads afresh which VMs of the original operator lie in the folder that the hub grants to the group. The error is one of the hub.
func (p *pass) findLegacy(ctx context.Context, s *group.Snapshot) (*group.AdoptionAnswer, error) {
	blocked := func(b *plan.Blocker) (*group.AdoptionAnswer, error) { return &group.AdoptionAnswer{Blocked: b}, nil }
	var vcenter v1alpha1.VCenter
	if err := p.hub.Get(ctx, types.NamespacedName{Name: s.VCenter}, &vcenter); err != nil {
		return nil, fmt.Errorf("read VCenter %q from the hub: %w", s.VCenter, err)
	}
	grants := vcenter.Spec.LegacyFolders
	folder := ""
	for i := range grants {
		if g := &grants[i]; g.MemberCluster == s.Member && g.Namespace == s.Group.Namespace && g.Group == s.Group.Name {
			folder = g.Folder
		}
	}
	if folder == "" {
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
	if err != nil {
		return blocked(s.LegacyFolderProblem(folder, err))
	}
	return &group.AdoptionAnswer{Folder: &content}, nil
}

// markOfLegacy is what a VM of the original operator is marked with until it carries the group's stamp.
func markOfLegacy(s *group.Snapshot, action plan.Action) vsphere.ReleaseMark {
	id := s.ID
	id.Group = s.Adoption.From
	return vsphere.ReleaseMark{GroupID: id, Namespace: s.Group.Namespace, Ordinal: action.Ordinal, Revision: action.Revision, UUID: action.UUID}
}
