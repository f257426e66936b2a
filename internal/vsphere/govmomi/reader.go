package govmomi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/foreigntext"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
)

const (
	propName          = "name"
	propParent        = "parent"
	propPower         = "runtime.powerState"
	propConnection    = "runtime.connectionState"
	propGuestIP       = "guest.ipAddress"
	propTools         = "guest.toolsRunningStatus"
	propHeartbeat     = "guestHeartbeatStatus"
	propBootTime      = "runtime.bootTime"
	propInstanceUUID  = "config.instanceUuid"
	propTemplate      = "config.template"
	propChangeVersion = "config.changeVersion"
	propCreateDate    = "config.createDate"
	propCPU           = "config.hardware.numCPU"
	propMemory        = "config.hardware.memoryMB"
	propCores         = "config.hardware.numCoresPerSocket"
	propCPUHotAdd     = "config.cpuHotAddEnabled"
	propMemoryHotAdd  = "config.memoryHotAddEnabled"
	propMemoryLimit   = "config.hotPlugMemoryLimit"
	propMemoryStep    = "config.hotPlugMemoryIncrementSize"
	propDevices       = "config.hardware.device"
	propSnapshot      = "snapshot.currentSnapshot"
)

var (
	// baseProperties are watched and listed. They are few, because every VM's are read again and again.
	baseProperties = []string{
		propName, propParent, propPower, propBootTime, propConnection, propGuestIP, propTools, propHeartbeat,
		propInstanceUUID, propTemplate, propChangeVersion,
	}
	// detailProperties are read when the change version moved. Of extraConfig only the operator's own keys are asked for: the
	// rest may be large, and guestinfo holds secrets.
	detailProperties = append([]string{
		propCPU, propMemory, propChangeVersion, propCores, propCPUHotAdd, propMemoryHotAdd, propMemoryLimit, propMemoryStep,
	}, stampProperties...)
	stampProperties = func() []string {
		out := make([]string, len(inventory.Keys))
		for i, key := range inventory.Keys {
			out[i] = extraConfigPath(key)
		}
		return out
	}()
	folderProperties = []string{propName, propParent}
)

var errUnreadable = errors.New("vCenter answered without the object and without an error")

func extraConfigPath(key string) string { return fmt.Sprintf("config.extraConfig[%q]", key) }

func listingSpec() []types.PropertySpec {
	return []types.PropertySpec{
		{Type: vsphere.TypeVirtualMachine, PathSet: baseProperties},
		{Type: vsphere.TypeFolder, PathSet: folderProperties},
	}
}

// reader reads VMs and folders, with as few calls as possible.
type reader struct {
	client *vim25.Client
	index  *inventory.Index
}

// list reads everything in a view. VMs whose parent is not below the root are left out: a view may lag behind.
func (r reader) list(ctx context.Context, view vsphere.Ref) ([]inventory.Seen, []vsphere.Folder, error) {
	objects, err := retrieve(ctx, r.client, viewSpec(view, listingSpec()))
	if err != nil {
		return nil, nil, err
	}
	return r.listing(ctx, objects)
}

// listing makes a listing of base properties, reading the details that the index does not have.
func (r reader) listing(ctx context.Context, objects []object) ([]inventory.Seen, []vsphere.Folder, error) {
	inside := map[vsphere.Ref]bool{r.index.Root(): true}
	var folders []vsphere.Folder
	for _, o := range objects {
		if o.ref.Type == vsphere.TypeFolder {
			inside[o.ref] = true
			folders = append(folders, folderOf(o))
		}
	}
	var vms []object
	for _, o := range objects {
		if o.ref.Type == vsphere.TypeVirtualMachine && inside[o.refOf(propParent)] {
			vms = append(vms, o)
		}
	}
	seen, err := r.complete(ctx, vms)
	return seen, folders, err
}

// complete adds the details to base properties. A VM that vanished meanwhile is left out.
func (r reader) complete(ctx context.Context, vms []object) ([]inventory.Seen, error) {
	out := make([]inventory.Seen, 0, len(vms))
	var missing []vsphere.Ref
	byRef := map[vsphere.Ref]object{}
	for _, o := range vms {
		known, ok := r.index.Details(o.ref, o.text(propChangeVersion))
		if !ok {
			missing = append(missing, o.ref)
			byRef[o.ref] = o
			continue
		}
		patch(&known, o)
		out = append(out, inventory.Seen{VM: known})
	}
	details, err := existing(ctx, r.client, missing, types.PropertySpec{Type: vsphere.TypeVirtualMachine, PathSet: detailProperties})
	if err != nil {
		return nil, err
	}
	for _, d := range details {
		seen, err := seenOf(byRef[d.ref], d)
		if err != nil {
			return nil, err
		}
		out = append(out, seen)
	}
	return out, nil
}

// fetch reads objects whole. What does not exist is not in the result.
func (r reader) fetch(ctx context.Context, refs []vsphere.Ref) ([]object, error) {
	return existing(ctx, r.client, refs,
		types.PropertySpec{Type: vsphere.TypeVirtualMachine, PathSet: slices.Concat(baseProperties, detailProperties)},
		types.PropertySpec{Type: vsphere.TypeFolder, PathSet: folderProperties},
	)
}

// seenOf builds a VM from its base properties and its details.
func seenOf(base, details object) (inventory.Seen, error) {
	// A property that we may not read is not an empty one: a VM whose stamp is hidden must not look unstamped.
	for path, err := range details.denied {
		if has[types.BaseNoPermission](err) {
			return inventory.Seen{}, fmt.Errorf("read %s of VM %s: %w", path, foreigntext.Name(base.text(propName)), err)
		}
	}
	vm := vsphere.VM{Ref: base.ref}
	patch(&vm, base)
	if !details.has(propCPU) && !details.has(propChangeVersion) {
		return inventory.Seen{VM: vm, Unread: true}, nil
	}
	vm.CPU = int32(details.number(propCPU))
	vm.MemoryMiB = details.number(propMemory)
	vm.HotAdd = vsphere.HotAdd{
		CPU: details.yes(propCPUHotAdd), Memory: details.yes(propMemoryHotAdd), CoresPerSocket: int32(details.number(propCores)),
		MemoryLimitMiB: details.number(propMemoryLimit), MemoryStepMiB: details.number(propMemoryStep),
	}
	vm.ChangeVersion = details.text(propChangeVersion)
	values := stampValues(details)
	vm.Stamp, vm.Tombstone = inventory.DecodeStamp(values)
	vm.Released = inventory.DecodeRelease(values)
	return inventory.Seen{VM: vm}, nil
}

func stampValues(o object) map[string]string {
	values := map[string]string{}
	for _, key := range inventory.Keys {
		if value := extraValue(o, key); value != "" {
			values[key] = value
		}
	}
	return values
}

// extraValue returns what was read of a key of extraConfig; nothing if there is none.
func extraValue(o object, key string) (value string) {
	switch v := o.values[extraConfigPath(key)].(type) {
	case types.OptionValue:
		value, _ = v.Value.(string)
	case *types.OptionValue:
		value, _ = v.Value.(string)
	}
	return value
}

// patch overwrites base properties; what is not among them keeps its value.
func patch(vm *vsphere.VM, o object) {
	vm.Name = o.text(propName)
	vm.Folder = o.refOf(propParent)
	vm.Power = power(o.text(propPower))
	vm.BootTime = bootTime(o)
	vm.Connected = o.text(propConnection) == string(types.VirtualMachineConnectionStateConnected)
	vm.GuestIP = o.text(propGuestIP)
	vm.HeartbeatGreen = o.text(propHeartbeat) == string(types.ManagedEntityStatusGreen)
	vm.ToolsRunning = o.text(propTools) == string(types.VirtualMachineToolsRunningStatusGuestToolsRunning)
	vm.InstanceUUID = o.text(propInstanceUUID)
	vm.IsTemplate = o.yes(propTemplate)
}

func power(s string) vsphere.PowerState {
	switch types.VirtualMachinePowerState(s) {
	case types.VirtualMachinePowerStatePoweredOn:
		return vsphere.PoweredOn
	case types.VirtualMachinePowerStatePoweredOff:
		return vsphere.PoweredOff
	case types.VirtualMachinePowerStateSuspended:
		return vsphere.Suspended
	}
	return vsphere.PowerUnknown
}

// bootTime is in UTC, so that two of them are the same value if they are the same moment.
func bootTime(o object) time.Time {
	at, _ := o.values[propBootTime].(time.Time)
	if at.IsZero() {
		return time.Time{}
	}
	return at.UTC()
}

func folderOf(o object) vsphere.Folder {
	return vsphere.Folder{Ref: o.ref, Name: o.text(propName), Parent: o.refOf(propParent)}
}
