package govmomi

import (
	"context"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	needs "github.com/codeconnect/vmgroup-operator/internal/vsphere/privileges"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/survey"
)

// rightsAtOnce is the number of objects in one call.
const rightsAtOnce = 100

// readRights reads the account's privileges on each object that needs privileges.
func (s *surveyor) readRights(ctx context.Context) {
	manager := s.conn.client.ServiceContent.AuthorizationManager
	if manager == nil {
		return
	}
	p := s.facts.Places
	objects := []survey.Object{
		{Kind: needs.Root, Path: "/", Ref: fromRef(s.conn.client.ServiceContent.RootFolder).String()},
		{Kind: needs.Datacenter, Path: s.conn.datacenter.path, Ref: s.conn.datacenter.ref.String()},
		{Kind: needs.RootFolder, Path: p.Folder, Ref: s.home.String()},
	}
	if p.Cluster != nil {
		objects = append(objects, survey.Object{Kind: needs.Cluster, Path: p.Cluster.Path, Ref: p.Cluster.Ref})
	}
	for _, t := range s.facts.Templates {
		objects = append(objects, t.Object)
	}
	if p.Pool.Ref != "" {
		objects = append(objects, p.Pool)
	}
	for _, d := range p.Datastores {
		objects = append(objects, d.Object)
	}
	for _, n := range p.Networks {
		objects = append(objects, n.Object)
		if n.Switch.Ref != "" && !n.SwitchHidden {
			objects = append(objects, n.Switch)
		}
	}
	for batch := range slices.Chunk(objects, rightsAtOnce) {
		s.facts.Rights = append(s.facts.Rights, s.rightsOn(ctx, *manager, batch)...)
	}
}

func (s *surveyor) rightsOn(ctx context.Context, manager types.ManagedObjectReference, objects []survey.Object) []survey.Rights {
	out := make([]survey.Rights, 0, len(objects))
	var entities []types.ManagedObjectReference
	for _, o := range objects {
		out = append(out, survey.Rights{Object: o, Unread: true})
		if ref := refOfText(o.Ref); !slices.Contains(entities, ref) {
			entities = append(entities, ref)
		}
	}
	resp, err := methods.FetchUserPrivilegeOnEntities(ctx, s.conn.client, &types.FetchUserPrivilegeOnEntities{
		This: manager, Entities: entities, UserName: s.conn.session.User(),
	})
	if err != nil && len(objects) > 1 {
		// One object that the account cannot query must not hide the others.
		out = out[:0]
		for i := range objects {
			out = append(out, s.rightsOn(ctx, manager, objects[i:i+1])...)
		}
		return out
	}
	if err != nil {
		out[0].Unread = !denies(err)
		return out
	}
	for i := range out {
		for _, on := range resp.Returnval {
			if on.Entity == refOfText(out[i].Ref) {
				out[i].Has, out[i].Unread = on.Privileges, false
			}
		}
	}
	return out
}

// refOfText parses a reference from Ref.String.
func refOfText(text string) types.ManagedObjectReference {
	kind, value, _ := strings.Cut(text, ":")
	return toRef(vsphere.Ref{Type: kind, Value: value})
}
