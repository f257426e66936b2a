package govmomi

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/operations"
)

var errNoAdapter = errors.New("the VM has no network adapter to connect to the wanted network; add one in vCenter, or delete the VM, so that it is cloned anew")

// Reconfigure changes size, root disk, network and revision in one step: see vsphere.Server.
func (s *Server) Reconfigure(ctx context.Context, t vsphere.Reconfiguration) error {
	r, vm, err := s.target(t.Kind(), t.Target)
	if err != nil {
		return err
	}
	if vm.Tombstone {
		return &vsphere.Error{Kind: vsphere.KindConflict, Op: phrase(r), Object: t.VM, Err: errDoomed}
	}
	r.Stamp.Revision, r.CPU, r.CoresPerSocket, r.MemoryMiB = cmp.Or(t.Revision, vm.Stamp.Revision), t.CPU, t.CoresPerSocket, t.MemoryMiB
	if t.Done(vm) {
		if t.Network.IsZero() && !changesDisks(t) {
			return nil
		}
		r.ChangeVersion = vm.ChangeVersion // no other part of the change is observable
	}
	return s.submit(ctx, r, "", func(ctx context.Context, c *connection) (types.ManagedObjectReference, error) {
		spec, err := s.reconfiguration(ctx, c, r, t, vm)
		if err != nil {
			return types.ManagedObjectReference{}, err
		}
		resp, err := methods.ReconfigVM_Task(ctx, c.client, &types.ReconfigVM_Task{This: toRef(t.VM), Spec: spec})
		if err != nil {
			return types.ManagedObjectReference{}, err
		}
		return resp.Returnval, nil
	})
}

// reconfiguration returns the change of a VM. It omits values that the observation behind the change already shows: they need no privilege, and a
// running VM can refuse them.
func (s *Server) reconfiguration(ctx context.Context, c *connection, r operations.Request, t vsphere.Reconfiguration, vm vsphere.VM) (types.VirtualMachineConfigSpec, error) {
	seen := vm
	if t.ChangeVersion == "" || t.ChangeVersion != seen.ChangeVersion {
		seen = vsphere.VM{Stamp: &vsphere.Stamp{}}
	}
	spec := types.VirtualMachineConfigSpec{ChangeVersion: t.ChangeVersion}
	if t.CPU != seen.CPU {
		spec.NumCPUs = t.CPU
	}
	if t.CoresPerSocket != 0 { // also if the VM shows it: vCenter 8 can choose another at the next start
		spec.NumCoresPerSocket = &t.CoresPerSocket
	}
	if t.MemoryMiB != seen.MemoryMiB {
		spec.MemoryMB = t.MemoryMiB
	}
	if t.Revision != "" && t.Revision != seen.Stamp.Revision {
		spec.ExtraConfig = extraConfig([]inventory.KV{{Key: inventory.KeyRevision, Value: t.Revision}})
	}
	changes, extra, err := s.deviceChanges(ctx, c, r, t, vm)
	if err != nil {
		return spec, err
	}
	spec.DeviceChange, spec.ExtraConfig = changes, append(spec.ExtraConfig, extraConfig(extra)...)
	if spec.NumCPUs == 0 && spec.NumCoresPerSocket == nil && spec.MemoryMB == 0 && len(spec.ExtraConfig)+len(spec.DeviceChange) == 0 {
		return spec, errDone
	}
	return spec, nil
}

// deviceChanges returns the edits of a VM's disks and network adapter, and the entries of its configuration that change with them.
func (s *Server) deviceChanges(ctx context.Context, c *connection, r operations.Request, t vsphere.Reconfiguration, seen vsphere.VM) (changes []types.BaseVirtualDeviceConfigSpec, extra []inventory.KV, err error) {
	if t.Network.IsZero() && !changesDisks(t) {
		return nil, nil, nil
	}
	if err := vsphere.CheckFence(ctx); err != nil {
		return nil, nil, err
	}
	properties := []string{propDevices}
	if changesDisks(t) {
		properties = append(properties, growthProperties...)
	}
	o, err := exact(ctx, c.client, r.VM, properties...)
	if err != nil {
		return nil, nil, readOnlyError(err)
	}
	for _, denied := range o.denied {
		return nil, nil, readOnlyError(denied)
	}
	if changesDisks(t) {
		changes, extra, err = s.diskChanges(o, r, t, seen)
		if vsphere.KindOf(err) == vsphere.KindOffOnly { // vCenter would name a missing privilege first, and the VM is not stopped for a change that it denies
			if missing := missingOn(ctx, c, r.VM, changeNeeds(t, seen)); missing != "" {
				err = &vsphere.Error{Kind: vsphere.KindPermission, Op: phrase(r), Object: r.VM, Privilege: missing, Err: fmt.Errorf("the account lacks %s on the VM", missing)}
			}
		}
		if err != nil {
			return nil, nil, err
		}
	}
	if !t.Network.IsZero() {
		change, err := s.reconnectNIC(ctx, c, r, o, t.Network)
		if err != nil {
			return nil, nil, readOnlyError(err)
		}
		if change != nil {
			changes = append(changes, change)
		}
	}
	return changes, extra, nil
}

// changesDisks reports whether a change needs the VM's devices because of its disks.
func changesDisks(t vsphere.Reconfiguration) bool {
	return t.RootDiskGiB != 0 || len(t.DataDisks) > 0 || t.Identify
}

// diskChanges returns the edits of a VM's disks, and the entries of its configuration that change with them.
func (s *Server) diskChanges(o object, r operations.Request, t vsphere.Reconfiguration, seen vsphere.VM) (changes []types.BaseVirtualDeviceConfigSpec, extra []inventory.KV, err error) {
	vm := owned{object: o, linked: seen.Stamp != nil && seen.Stamp.Linked(), changeVersion: t.ChangeVersion, request: r}
	var ok bool
	if vm.devices, ok = devicesOf(o); !ok {
		return nil, nil, vm.refuse(vsphere.KindTransient, errUnreadConfig)
	}
	if t.RootDiskGiB != 0 {
		change, err := vm.growRoot(t.RootDiskGiB)
		if err != nil {
			return nil, nil, err
		}
		if change != nil {
			changes = append(changes, change)
		}
		if t.RootDiskGiB > seen.RootDiskGiB {
			extra = append(extra, inventory.EncodeRootDisk(t.RootDiskGiB))
		}
	}
	if len(t.DataDisks) > 0 || t.Identify {
		more, entries, err := vm.dataDisks(t.DataDisks)
		if err != nil {
			return nil, nil, err
		}
		changes, extra = append(changes, more...), append(extra, entries...)
	}
	if vm.needsOff {
		return nil, nil, vm.refuse(vsphere.KindOffOnly, errDiskOnIDE)
	}
	return changes, extra, nil
}

// reconnectNIC returns the edit that connects a VM's first network adapter to another network, or nil if it is already connected. The edit keeps
// everything else of the adapter, above all its address.
func (s *Server) reconnectNIC(ctx context.Context, c *connection, r operations.Request, o object, network vsphere.Ref) (*types.VirtualDeviceConfigSpec, error) {
	devices, ok := devicesOf(o)
	if !ok {
		return nil, &vsphere.Error{Kind: vsphere.KindTransient, Op: phrase(r), Object: r.VM, Err: errUnreadConfig}
	}
	for _, d := range devices {
		card, ok := d.(types.BaseVirtualEthernetCard)
		if !ok {
			continue
		}
		backing, err := s.backing(ctx, c, network)
		if err != nil || sameNetwork(card.GetVirtualEthernetCard().Backing, backing) {
			return nil, err
		}
		edited := copyDevice(d)
		edited.(types.BaseVirtualEthernetCard).GetVirtualEthernetCard().Backing = backing
		return &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationEdit, Device: edited}, nil
	}
	return nil, &vsphere.Error{Kind: vsphere.KindSpec, Op: phrase(r), Object: r.VM, Err: errNoAdapter}
}

// sameNetwork reports whether two adapters are certainly connected to the same network.
func sameNetwork(a, b types.BaseVirtualDeviceBackingInfo) bool {
	switch a := a.(type) {
	case *types.VirtualEthernetCardNetworkBackingInfo:
		b, ok := b.(*types.VirtualEthernetCardNetworkBackingInfo)
		return ok && a.DeviceName == b.DeviceName
	case *types.VirtualEthernetCardDistributedVirtualPortBackingInfo:
		b, ok := b.(*types.VirtualEthernetCardDistributedVirtualPortBackingInfo)
		return ok && a.Port.SwitchUuid == b.Port.SwitchUuid && a.Port.PortgroupKey == b.Port.PortgroupKey
	case *types.VirtualEthernetCardOpaqueNetworkBackingInfo:
		b, ok := b.(*types.VirtualEthernetCardOpaqueNetworkBackingInfo)
		return ok && a.OpaqueNetworkType == b.OpaqueNetworkType && a.OpaqueNetworkId == b.OpaqueNetworkId
	}
	return false
}
