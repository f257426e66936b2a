package effect

import (
	"context"
	"fmt"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// legacyFolders finds VMs of the original operator.
type legacyFolders struct{ hub client.Reader }

// find reads from vCenter which VMs of the original operator are in the folder that the hub grants to the group. A group that
// has adopted its VMs once needs no folder any more: the hub can have granted it to another group since, or a user can have
// deleted it. The error is one of the hub.
func (l legacyFolders) find(ctx context.Context, p *Pass, s *group.Snapshot) (*group.AdoptionAnswer, error) {
	blocked := func(b *plan.Blocker) (*group.AdoptionAnswer, error) { return &group.AdoptionAnswer{Blocked: b}, nil }
	grants, err := l.granted(ctx, s)
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
	content, err := p.Server.ReadFolder(ctx, folder)
	switch {
	case over && vsphere.KindOf(err) == vsphere.KindNotFound:
		return nothing, nil
	case err != nil:
		return blocked(s.LegacyFolderProblem(folder, err))
	}
	return &group.AdoptionAnswer{Folder: &content}, nil
}

// granted returns the folders that the group's VCenter grants, and those of other VCenters that lead to the same vCenter: all
// of them assign the VMs in a folder to a group.
func (l legacyFolders) granted(ctx context.Context, s *group.Snapshot) (all []v1alpha1.LegacyFolder, err error) {
	var vcenters v1alpha1.VCenterList
	if err := l.hub.List(ctx, &vcenters); err != nil {
		return nil, fmt.Errorf("read VCenters from the hub: %w", err)
	}
	for i := range vcenters.Items {
		if vc := &vcenters.Items[i]; vc.Name == s.VCenter {
			all = append(all, vc.Spec.LegacyFolders...)
		} else if here := s.Observation.InstanceUUID; here != "" && strings.EqualFold(vc.Status.InstanceUUID, here) {
			for _, other := range vc.Spec.LegacyFolders {
				other.MemberCluster = "" // it grants nothing to groups of this VCenter
				all = append(all, other)
			}
		}
	}
	return all, nil
}
