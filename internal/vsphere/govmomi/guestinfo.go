package govmomi

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
)

// readGuests reads the values that guests write while a group waits for them. One call reads all due VMs of all groups.
func (s *Server) readGuests(ctx context.Context, c *connection) error {
	for {
		var timer <-chan time.Time
		if wait, waits := s.guests.next(s.cfg.Now()); waits {
			timer = time.After(wait)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.guestKick:
			continue
		case <-timer:
		}
		if err := s.readGuestsOnce(ctx, c); err != nil {
			return translate("read what guests have written", err)
		}
	}
}

func (s *Server) readGuestsOnce(ctx context.Context, c *connection) error {
	byKey := s.guests.take(s.cfg.Now(), s.waitsForGuest)
	specs := make([]types.PropertyFilterSpec, 0, len(byKey))
	asked := map[vsphere.Ref]string{}
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		refs := byKey[key]
		for _, ref := range refs {
			asked[ref] = key
		}
		specs = append(specs, types.PropertyFilterSpec{
			ObjectSet: objectSet(refs), ReportMissingObjectsInResults: types.NewBool(true),
			PropSet: []types.PropertySpec{{Type: vsphere.TypeVirtualMachine, PathSet: []string{propPower, propBootTime, extraConfigPath(key)}}},
		})
	}
	if len(specs) == 0 {
		return nil
	}
	objects, err := retrieve(ctx, c.client, specs...)
	if err != nil {
		return err
	}
	told := map[vsphere.GroupKey]struct{}{}
	for _, o := range objects {
		key := asked[o.ref]
		// A property that vCenter does not show is not an empty one.
		if len(o.denied) > 0 || power(o.text(propPower)) != vsphere.PoweredOn {
			continue
		}
		if group := s.guests.found(o.ref, bootTime(o), key, extraValue(o, extraConfigPath(key))); group != "" {
			told[group] = struct{}{}
		}
	}
	for group := range told {
		s.groupChanged(group)
	}
	return nil
}

// waitsForGuest reports whether a VM is present and this process owns its group.
func (s *Server) waitsForGuest(vm vsphere.Ref, group vsphere.GroupKey) bool {
	_, state := s.index.VM(vm)
	return state == inventory.Present && (s.cfg.Witness == nil || s.cfg.Witness.Cares(group))
}
