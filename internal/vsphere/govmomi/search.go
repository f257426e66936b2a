package govmomi

import (
	"context"
	"maps"
	"slices"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
)

// mostStale limits how many of a group's deleted VMs have a recent confirmation. Only that many can be replaced at once. Only that many are searched for
// repeatedly while the group waits for other reasons.
const mostStale = 20

// missing gives the verdict on an object whose reference does not exist. A VM that a user unregisters and registers again gets another reference. So a VM
// gets verdict Gone only if no VM has its instance UUID either.
func (s *Server) missing(ctx context.Context, c *connection, began inventory.Moment, ref vsphere.Ref) error {
	if ref.Type != vsphere.TypeVirtualMachine {
		s.index.Confirm(began, ref, inventory.Gone)
		return nil
	}
	search := inventory.Search{UUIDs: s.index.SearchFor(ref, s.claimed(ref)...)}
	for _, uuid := range search.UUIDs {
		found, err := s.findByUUID(ctx, c, uuid)
		if err != nil {
			return err
		}
		search.Found = append(search.Found, found...)
	}
	s.index.ConfirmGone(began, ref, search)
	now := s.cfg.Now()
	s.mu.Lock()
	s.looked.note(ref, now)
	s.mu.Unlock()
	return nil
}

// findByUUID returns the visible VMs outside of the root folder with an instance UUID. It puts those below the root into the inventory.
func (s *Server) findByUUID(ctx context.Context, c *connection, uuid string) ([]inventory.Outside, error) {
	began := s.index.Begin()
	resp, err := methods.FindAllByUuid(ctx, c.client, &types.FindAllByUuid{
		This: *c.client.ServiceContent.SearchIndex, Uuid: uuid, VmSearch: true, InstanceUuid: types.NewBool(true),
	})
	if denies(err) {
		return nil, nil // if the account cannot search, nothing is known, as for a VM that it cannot see
	}
	if err != nil || len(resp.Returnval) == 0 {
		return nil, err
	}
	refs := make([]vsphere.Ref, len(resp.Returnval))
	for i, ref := range resp.Returnval {
		refs[i] = fromRef(ref)
	}
	objects, err := reader{client: c.client, index: s.index}.fetch(ctx, refs)
	if err != nil {
		return nil, err
	}
	var outside []inventory.Outside
	for _, o := range objects {
		inside, path, err := s.whereabouts(ctx, c, o)
		if err != nil {
			return nil, err
		}
		if inside {
			if err := s.verdict(ctx, c, began, o); err != nil {
				return nil, err
			}
			continue
		}
		seen, err := seenOf(baseOf(o), o)
		if err != nil {
			seen = inventory.Seen{VM: vsphere.VM{Ref: o.ref, InstanceUUID: uuid}, Unread: true} // its owner is not visible there
		}
		outside = append(outside, inventory.Outside{Seen: seen, Path: path})
	}
	return outside, nil
}

// whereabouts follows the parents of an object. It reports whether the object is below the root folder, and otherwise returns its inventory path. If the
// account cannot see all of the path, the path is empty.
func (s *Server) whereabouts(ctx context.Context, c *connection, o object) (inside bool, path string, err error) {
	const deepest = 64
	path = "/" + o.text(propName)
	at := o.refOf(propParent)
	for range deepest {
		switch at {
		case c.root.Ref:
			return true, "", nil
		case c.datacenter.vmFolder:
			return false, c.datacenter.path + "/vm" + path, nil
		case fromRef(c.client.ServiceContent.RootFolder):
			return false, path, nil
		case vsphere.Ref{}:
			return false, "", nil // a VM of a vApp has no parent folder
		}
		parent, err := exact(ctx, c.client, at, propName, propParent)
		if denies(err) || err == nil && !parent.has(propName) {
			return false, "", nil
		}
		if err != nil {
			return false, "", err
		}
		path, at = "/"+parent.text(propName)+path, parent.refOf(propParent)
	}
	return false, "", nil
}

// claim remembers the instance UUIDs by which a group knows objects during their look-up. It keeps one for each object, so that repeatedly invented status
// uses no more memory.
func (s *Server) claim(group vsphere.GroupKey, refs []vsphere.Ref, uuids map[vsphere.Ref]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ref := range refs {
		uuid := uuids[ref]
		if uuid == "" {
			continue
		}
		if s.uuids[ref] == nil {
			s.uuids[ref] = map[vsphere.GroupKey]string{}
		}
		s.uuids[ref][group] = uuid
	}
}

// claimed returns the instance UUIDs by which groups know an object during its look-up.
func (s *Server) claimed(ref vsphere.Ref) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Compact(slices.Sorted(maps.Values(s.uuids[ref])))
}

// stale returns those of a group's deleted VMs whose last search is old, and requests a new search for some of them.
func (s *Server) stale(q vsphere.Query, searched []vsphere.Ref) []vsphere.Ref {
	now := s.cfg.Now()
	s.mu.Lock()
	old := slices.DeleteFunc(slices.Clone(searched), func(ref vsphere.Ref) bool { return s.looked.lately(ref, now) })
	s.mu.Unlock()
	fresh := len(searched) - len(old)
	again := old[:min(len(old), max(mostStale-fresh, 0))]
	s.claim(q.ID.Key(), again, q.UUIDs)
	s.seek(q.ID.Member, again)
	return old
}
