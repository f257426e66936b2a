package sim

import (
	"context"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// computeOf returns the cluster or standalone host of a resource pool, or nil.
func computeOf(ctx *simulator.Context, pool *types.ManagedObjectReference) *mo.ComputeResource {
	if pool == nil {
		return nil
	}
	p, ok := ctx.Map.Get(*pool).(*simulator.ResourcePool)
	if !ok {
		return nil
	}
	switch owner := ctx.Map.Get(p.Owner).(type) {
	case *simulator.ClusterComputeResource:
		return &owner.ComputeResource
	case *mo.ComputeResource:
		return owner
	}
	return nil
}

// runs reports whether a host can run a VM now.
func runs(ctx *simulator.Context, ref types.ManagedObjectReference) bool {
	host, ok := ctx.Map.Get(ref).(*simulator.HostSystem)
	return ok && !host.Runtime.InMaintenanceMode &&
		host.Runtime.ConnectionState != types.HostSystemConnectionStateDisconnected && host.Runtime.ConnectionState != types.HostSystemConnectionStateNotResponding
}

// chooseHost sets a host of the resource pool if the request names none. vCenter takes any compatible host.
func chooseHost(ctx *simulator.Context, source *simulator.VirtualMachine, req *types.CloneVM_Task) {
	compute := computeOf(ctx, req.Spec.Location.Pool)
	if compute == nil || req.Spec.Location.Host != nil || slices.Contains(compute.Host, *source.Runtime.Host) && runs(ctx, *source.Runtime.Host) {
		return
	}
	for _, ref := range compute.Host {
		if runs(ctx, ref) {
			req.Spec.Location.Host = &ref
			return
		}
	}
}

// checkPlacement refuses a clone whose host, datastore and network are not connected.
func checkPlacement(ctx *simulator.Context, source *simulator.VirtualMachine, req *types.CloneVM_Task) types.BaseMethodFault {
	location := req.Spec.Location
	compute := computeOf(ctx, location.Pool)
	if compute == nil {
		return nil
	}
	if source.Runtime.Host != nil && !runs(ctx, *source.Runtime.Host) {
		return &types.InvalidHostState{Host: source.Runtime.Host}
	}
	if !slices.ContainsFunc(compute.Host, func(ref types.ManagedObjectReference) bool { return runs(ctx, ref) }) {
		return &types.NoCompatibleHost{Host: compute.Host}
	}
	datastores := source.Datastore
	if location.Datastore != nil {
		datastores = []types.ManagedObjectReference{*location.Datastore}
		if req.Spec.Snapshot != nil {
			datastores = append(datastores, source.Datastore...)
		}
	}
	for _, ref := range datastores {
		if !slices.Contains(compute.Datastore, ref) {
			fault := &types.CannotAccessFile{}
			if ds, ok := ctx.Map.Get(ref).(*simulator.Datastore); ok {
				fault.File = "[" + ds.Name + "]"
			}
			return fault
		}
	}
	for _, change := range location.DeviceChange {
		if network := networkOf(change.GetVirtualDeviceConfigSpec().Device); network != nil && !slices.Contains(compute.Network, *network) {
			return &types.CannotAccessNetwork{Network: network}
		}
	}
	return nil
}

// networkOf returns the requested network of a network adapter, or nil.
func networkOf(device types.BaseVirtualDevice) *types.ManagedObjectReference {
	card, ok := device.(types.BaseVirtualEthernetCard)
	if !ok {
		return nil
	}
	switch backing := card.GetVirtualEthernetCard().Backing.(type) {
	case *types.VirtualEthernetCardNetworkBackingInfo:
		return backing.Network
	case *types.VirtualEthernetCardDistributedVirtualPortBackingInfo:
		return &types.ManagedObjectReference{Type: "DistributedVirtualPortgroup", Value: backing.Port.PortgroupKey}
	}
	return nil
}

// AddCluster creates another cluster with one host. The host can reach only a new datastore and a new network. It returns the path of the resource pool.
// directory is for the datastore.
func (o *Operator) AddCluster(ctx context.Context, name, datastore, directory string) (pool string, err error) {
	fail := func(what string, err error) (string, error) {
		return "", fmt.Errorf("%s for cluster %s: %w", what, name, err)
	}
	folder, err := o.folder(ctx, "/DC0/host")
	if err != nil {
		return fail("find the folder", err)
	}
	cluster, err := folder.CreateCluster(ctx, name, types.ClusterConfigSpecEx{})
	if err != nil {
		return fail("make it", err)
	}
	task, err := cluster.AddHost(ctx, types.HostConnectSpec{HostName: name + "-H0"}, true, nil, nil)
	if err := wait(ctx, "add a host to "+name, task, err); err != nil {
		return "", err
	}
	host, err := o.finder.HostSystem(ctx, "/DC0/host/"+name+"/"+name+"-H0")
	if err != nil {
		return fail("find the host", err)
	}
	system, err := host.ConfigManager().DatastoreSystem(ctx)
	if err != nil {
		return fail("find the datastores", err)
	}
	if _, err := system.CreateLocalDatastore(ctx, datastore, directory); err != nil {
		return fail("make a datastore", err)
	}
	return "/DC0/host/" + name + "/Resources", nil
}

// Maintenance makes a host enter or leave maintenance mode.
func (o *Operator) Maintenance(ctx context.Context, hostPath string, enter bool) error {
	host, err := o.finder.HostSystem(ctx, hostPath)
	if err != nil {
		return fmt.Errorf("find host %s: %w", hostPath, err)
	}
	var task *object.Task
	if enter {
		task, err = host.EnterMaintenanceMode(ctx, 0, false, nil)
	} else {
		task, err = host.ExitMaintenanceMode(ctx, 0)
	}
	return wait(ctx, "change the maintenance mode of "+hostPath, task, err)
}
