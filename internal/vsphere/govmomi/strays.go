package govmomi

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
)

const (
	// strayEvery is the interval of searches through the whole vCenter. A search reads two properties of each VM.
	strayEvery = time.Hour
	// strayRetry is the pause after a failed search.
	strayRetry = 5 * time.Minute
	// mostStrays limits how many VMs are named. Each costs some calls for its path.
	mostStrays = 20
)

// Strays returns the result of the last search through the whole vCenter for VMs with this installation's stamp outside of the root folder. It does not block.
// If the last search is an hour old, it requests another one, so only one replica must call it.
func (s *Server) Strays() vsphere.Strays {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.cfg.Now(); now.Sub(s.strays.At) >= strayEvery && now.Sub(s.strayTried) >= strayRetry {
		kick(s.strayKick)
	}
	return s.strays
}

// keepLookingForStrays searches the whole vCenter on request. An error does not end it: the caller of Strays asks again.
func (s *Server) keepLookingForStrays(ctx context.Context, c *connection) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.strayKick:
		}
		now := s.cfg.Now()
		s.mu.Lock()
		s.strayTried = now
		s.mu.Unlock()
		found, err := s.lookForStrays(ctx, c)
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			s.log.Error(err, "Cannot look for VMs of this installation outside of the root folder; trying again later")
			continue
		}
		found.At = now
		s.mu.Lock()
		s.strays = found
		s.mu.Unlock()
		s.serverChanged()
	}
}

// lookForStrays reads the name and the owner of each visible VM.
func (s *Server) lookForStrays(ctx context.Context, c *connection) (vsphere.Strays, error) {
	owner := extraConfigPath(inventory.KeyOwner)
	all, err := contained(ctx, c.client, fromRef(c.client.ServiceContent.RootFolder),
		[]types.PropertySpec{{Type: vsphere.TypeVirtualMachine, PathSet: []string{propName, owner}}})
	if err != nil {
		return vsphere.Strays{}, translate("look for VMs outside of the root folder", err)
	}
	var found vsphere.Strays
	unread := 0
	var outside []object
	for _, o := range all {
		if has[types.BaseNoPermission](o.denied[owner]) {
			unread++
			continue
		}
		if inventory.OwnerOf(extraValue(o, owner)) != s.cfg.Installation {
			continue
		}
		if _, state := s.index.VM(o.ref); state != inventory.Present {
			outside = append(outside, o)
		}
	}
	slices.SortFunc(outside, func(a, b object) int { return strings.Compare(a.ref.Value, b.ref.Value) })
	for _, o := range outside {
		if len(found.VMs) == mostStrays {
			found.Count++
			continue
		}
		stray, inside, err := s.stray(ctx, c, o)
		if err != nil {
			return vsphere.Strays{}, translate("look for VMs outside of the root folder", err)
		}
		if !inside {
			found.Count, found.VMs = found.Count+1, append(found.VMs, stray)
		}
	}
	found.Limits = s.notLooked(ctx, c, unread)
	return found, nil
}

// stray returns the location of a VM. A VM that just moved below the root, or that was deleted, is no stray.
func (s *Server) stray(ctx context.Context, c *connection, o object) (stray vsphere.Stray, inside bool, err error) {
	objects, err := existing(ctx, c.client, []vsphere.Ref{o.ref}, types.PropertySpec{Type: vsphere.TypeVirtualMachine, PathSet: folderProperties})
	if err != nil || len(objects) == 0 {
		return stray, true, err
	}
	inside, path, err := s.whereabouts(ctx, c, objects[0])
	if path == "" {
		path = objects[0].text(propName)
	}
	return vsphere.Stray{Ref: o.ref, Path: path}, inside, err
}

// notLooked describes where the account cannot read.
func (s *Server) notLooked(ctx context.Context, c *connection, unread int) string {
	var parts []string
	if manager := c.client.ServiceContent.AuthorizationManager; manager != nil {
		resp, err := methods.FetchUserPrivilegeOnEntities(ctx, c.client, &types.FetchUserPrivilegeOnEntities{
			This: *manager, Entities: []types.ManagedObjectReference{c.client.ServiceContent.RootFolder}, UserName: c.session.User(),
		})
		if err == nil && len(resp.Returnval) == 1 && !slices.Contains(resp.Returnval[0].Privileges, "System.Read") {
			parts = append(parts, "the operator's account sees only the objects of vCenter that it has a role on")
		}
	}
	if unread > 0 {
		parts = append(parts, fmt.Sprintf("it may not read the configuration of %d VMs", unread))
	}
	return strings.Join(parts, ", and ")
}
