package fleet

import (
	"maps"

	"github.com/codeconnect/vmgroup-operator/internal/fleet/tally"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Tallies returns the counts of groups and their VMs. They have their own locks: reading them does not lock the Fleet.
func (f *Fleet) Tallies() *tally.Book { return f.tallies }

// VCenters returns the names of the existing VCenters.
func (f *Fleet) VCenters() map[string]struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	names := make(map[string]struct{}, len(f.vcenters))
	for name := range maps.Keys(f.vcenters) {
		names[name] = struct{}{}
	}
	return names
}

// recount replaces the old state of a group with the new one in the counts. A group without a shape does not count. The
// caller holds the lock.
func (f *Fleet) recount(key vsphere.GroupKey, was, is *Group) {
	if was.shape != nil && is.shape != nil && was.Ref == is.Ref && was.VCenter == is.VCenter && *was.shape == *is.shape {
		return
	}
	if was.shape != nil {
		f.tallies.Remove(f.bucketOf(key, was.Ref), counted(key, was))
	}
	if is.shape != nil {
		f.tallies.Add(f.bucketOf(key, is.Ref), counted(key, is))
	}
}

func counted(key vsphere.GroupKey, g *Group) tally.Group {
	return tally.Group{
		Cell: tally.Cell{Member: g.Ref.Member, VCenter: g.VCenter}, Key: string(key), Namespace: g.Ref.Namespace, Name: g.Ref.Name, Shape: g.shape,
	}
}
