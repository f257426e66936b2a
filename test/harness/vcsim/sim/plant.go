package sim

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// each changes each object of a kind in the inventory, without notifying watchers.
func (s *Simulator) each(kind string, change func(mo.Entity)) {
	for _, entity := range s.model.Map().All(kind) {
		s.model.Service.Context.WithLock(entity, func() { change(entity) })
	}
}

// kinds are the kinds of named objects.
var kinds = []string{
	"Datacenter", "Folder", "VirtualMachine", "HostSystem", "ClusterComputeResource", "ResourcePool", "Datastore", "Network", "DistributedVirtualSwitch", "DistributedVirtualPortgroup",
}

// Named is an object of the inventory: its name and the value of its reference.
type Named struct{ Name, Ref string }

// Inventory returns the objects of some kinds, or of all.
func (s *Simulator) Inventory(of ...string) (all []Named) {
	if len(of) == 0 {
		of = kinds
	}
	for _, kind := range of {
		s.each(kind, func(e mo.Entity) { all = append(all, Named{e.Entity().Name, e.Reference().Value}) })
	}
	return all
}

// HideNamed calls Hide for the objects with a name.
func (s *Simulator) HideNamed(name string) error {
	var refs []types.ManagedObjectReference
	for _, kind := range kinds {
		s.each(kind, func(e mo.Entity) {
			if e.Entity().Name == name {
				refs = append(refs, e.Reference())
			}
		})
	}
	if len(refs) == 0 {
		return fmt.Errorf("nothing is called %s", name)
	}
	s.Hide(refs...)
	return nil
}

// FillDatastores sets the free space of all datastores, in bytes.
func (s *Simulator) FillDatastores(free int64) {
	s.each("Datastore", func(e mo.Entity) {
		if datastore, ok := e.(*simulator.Datastore); ok {
			datastore.Summary.FreeSpace = free
		}
	})
}

// MaintainDatastores puts all datastores into maintenance mode.
func (s *Simulator) MaintainDatastores() {
	s.each("Datastore", func(e mo.Entity) {
		if datastore, ok := e.(*simulator.Datastore); ok {
			datastore.Summary.MaintenanceMode = string(types.DatastoreSummaryMaintenanceModeStateInMaintenance)
		}
	})
}

// LeaveNetworksToOneHost removes all networks except port groups from all hosts but one.
func (s *Simulator) LeaveNetworksToOneHost() {
	var host types.ManagedObjectReference
	s.each("HostSystem", func(e mo.Entity) { host = e.Reference() })
	s.each("Network", func(e mo.Entity) {
		if network, ok := e.(*mo.Network); ok {
			network.Host = []types.ManagedObjectReference{host}
		}
	})
}

// ShowDRS changes the shown DRS state of all clusters. The placement of VMs does not change.
func (s *Simulator) ShowDRS(on bool, mode string) {
	s.each("ClusterComputeResource", func(e mo.Entity) {
		cluster, ok := e.(*simulator.ClusterComputeResource)
		if !ok {
			return
		}
		if config, ok := cluster.ConfigurationEx.(*types.ClusterConfigInfoEx); ok {
			config.DrsConfig = types.ClusterDrsConfigInfo{Enabled: &on, DefaultVmBehavior: types.DrsBehavior(mode)}
		}
	})
}

// CreateStoragePod creates an empty datastore cluster.
func (o *Operator) CreateStoragePod(ctx context.Context, name string) error {
	folder, err := o.folder(ctx, "/DC0/datastore")
	if err != nil {
		return err
	}
	if _, err := folder.CreateStoragePod(ctx, name); err != nil {
		return fmt.Errorf("create datastore cluster %s: %w", name, err)
	}
	return nil
}
