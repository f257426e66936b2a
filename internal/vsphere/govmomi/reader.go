package govmomi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/operations"
)

const (
	propName          = "name"
	propParent        = "parent"
	propPool          = "resourcePool"
	propPower         = "runtime.powerState"
	propConnection    = "runtime.connectionState"
	propGuestIP       = "guest.ipAddress"
	propGuestNet      = "guest.net"
	propTools         = "guest.toolsRunningStatus"
	propHeartbeat     = "guestHeartbeatStatus"
	propQuestion      = "runtime.question"
	propDisabled      = "disabledMethod"
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
	propVApp          = "config.vAppConfig"
	propDisks         = "summary.config.numVirtualDisks"
	propAdapters      = "summary.config.numEthernetCards"
)

var (
	// baseProperties are watched and listed. There are few, because those of every VM are read repeatedly.
	baseProperties = []string{
		propName, propParent, propPool, propPower, propBootTime, propConnection, propGuestIP, propGuestNet, propTools, propHeartbeat, propQuestion,
		propInstanceUUID, propTemplate, propChangeVersion, propDisabled,
	}
	// detailProperties are the whole configuration. They are read when the change version changes. Of extraConfig, only the operator's own keys are read: the rest
	// can be large, and guestinfo contains secrets.
	detailProperties = append([]string{
		propCPU, propMemory, propInstanceUUID, propTemplate, propChangeVersion, propCores, propCPUHotAdd, propMemoryHotAdd, propMemoryLimit, propMemoryStep,
		propDisks, propAdapters,
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

// reader reads VMs and folders with as few calls as possible.
type reader struct {
	client *vim25.Client
	index  *inventory.Index
	// ops are the operations in flight, or nil for a reader that lists nothing.
	ops *operations.Tracker
}

// making reports whether a clone of this process is creating a VM whose configuration vCenter does not show yet. Until then there is nothing to read, and the
// configuration arrives as a change.
func (r reader) making(vm *vsphere.VM) bool {
	return vm.ChangeVersion == "" && r.ops != nil && r.ops.Makes(vm.Name)
}

// list reads everything in a view. It omits VMs whose parent is not below the root, because a view can be outdated.
func (r reader) list(ctx context.Context, view vsphere.Ref) ([]inventory.Seen, []vsphere.Folder, error) {
	objects, err := retrieve(ctx, r.client, viewSpec(view, listingSpec()))
	if err != nil {
		return nil, nil, err
	}
	vms, folders := make([]vsphere.VM, 0, len(objects)), []vsphere.Folder(nil)
	for _, o := range objects {
		switch o.ref.Type {
		case vsphere.TypeFolder:
			folders = append(folders, folderOf(o))
		case vsphere.TypeVirtualMachine:
			vms = append(vms, baseOf(o))
		}
	}
	seen, err := r.listing(ctx, vms, folders)
	return seen, folders, err
}

// listing builds a listing from base properties, and reads the details that the index lacks.
func (r reader) listing(ctx context.Context, vms []vsphere.VM, folders []vsphere.Folder) ([]inventory.Seen, error) {
	inside := map[vsphere.Ref]bool{r.index.Root(): true}
	for _, f := range folders {
		inside[f.Ref] = true
	}
	return r.complete(ctx, slices.DeleteFunc(vms, func(vm vsphere.VM) bool { return !inside[vm.Folder] }))
}

// complete adds the details to base properties. It omits VMs that vanished meanwhile.
func (r reader) complete(ctx context.Context, vms []vsphere.VM) ([]inventory.Seen, error) {
	out := make([]inventory.Seen, 0, len(vms))
	var missing []vsphere.Ref
	byRef := map[vsphere.Ref]vsphere.VM{}
	for _, base := range vms {
		whole, ok := r.index.Whole(base)
		switch {
		case !ok && r.making(&base):
			out = append(out, inventory.Seen{VM: base, Unread: true})
			continue
		case !ok:
			missing = append(missing, base.Ref)
			byRef[base.Ref] = base
			continue
		}
		out = append(out, inventory.Seen{VM: whole})
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

// fetch reads objects whole. The result omits objects that do not exist.
func (r reader) fetch(ctx context.Context, refs []vsphere.Ref) ([]object, error) {
	return existing(ctx, r.client, refs, wholeSpec()...)
}

// wholeSpec selects all that is read of VMs and folders.
func wholeSpec() []types.PropertySpec {
	return []types.PropertySpec{
		{Type: vsphere.TypeVirtualMachine, PathSet: slices.Concat(baseProperties, detailProperties)},
		{Type: vsphere.TypeFolder, PathSet: folderProperties},
	}
}

// seenOf builds a VM from its base properties and its details. The details supply the whole configuration. The base properties can be older. An older UUID or
// template flag under the details' change version would never be read again.
func seenOf(vm vsphere.VM, details object) (inventory.Seen, error) {
	// An unreadable property is not an empty one: a VM with a hidden stamp must not look unstamped.
	for path, err := range details.denied {
		if has[types.BaseNoPermission](err) {
			return inventory.Seen{}, fmt.Errorf("read %s of VM %s: %w", path, untrusted.Name(vm.Name), err)
		}
	}
	values, err := stampValues(details)
	if err != nil || !details.has(propCPU) && !details.has(propChangeVersion) {
		vm.ChangeVersion = ""
		return inventory.Seen{VM: vm, Unread: true}, nil //nolint:nilerr // what vCenter cannot say now is not known
	}
	vm.CPU = int32(details.number(propCPU))
	vm.MemoryMiB = details.number(propMemory)
	vm.HotAdd = vsphere.HotAdd{
		CPU: details.yes(propCPUHotAdd), Memory: details.yes(propMemoryHotAdd), CoresPerSocket: int32(details.number(propCores)),
		MemoryLimitMiB: details.number(propMemoryLimit), MemoryStepMiB: details.number(propMemoryStep),
	}
	vm.Devices = int32(details.number(propDisks) + details.number(propAdapters))
	for _, name := range []string{propInstanceUUID, propTemplate, propChangeVersion} {
		setBase(&vm, name, details)
	}
	vm.Stamp, vm.Tombstone = inventory.DecodeStamp(values)
	vm.Released, vm.RootDiskGiB, vm.DataDisks = inventory.DecodeRelease(values), inventory.DecodeRootDisk(values), inventory.DecodeDataDisks(values)
	return inventory.Seen{VM: vm}, nil
}

// stampValues returns the values of a VM's stamp and release mark. A fault on one of these properties leaves its value unknown, so it is an error.
func stampValues(o object) (map[string]string, error) {
	values := map[string]string{}
	for i, key := range inventory.Keys {
		if err := o.denied[stampProperties[i]]; err != nil {
			return nil, fmt.Errorf("%w: %w", errUnreadConfig, err)
		}
		if value := extraValue(o, stampProperties[i]); value != "" {
			values[key] = value
		}
	}
	return values, nil
}

// extraValue returns the value of an extraConfig key at its path, or "".
func extraValue(o object, path string) (value string) {
	switch v := o.values[path].(type) {
	case types.OptionValue:
		value, _ = v.Value.(string)
	case *types.OptionValue:
		value, _ = v.Value.(string)
	}
	return value
}

// baseOf returns a VM with its base properties.
func baseOf(o object) vsphere.VM {
	vm := vsphere.VM{Ref: o.ref}
	for _, name := range baseProperties {
		setBase(&vm, name, o)
	}
	return vm
}

// interfacesOf returns the interfaces of a guest.
func interfacesOf(o object) (out []vsphere.GuestInterface) {
	all, _ := o.values[propGuestNet].(types.ArrayOfGuestNicInfo)
	for i := range all.GuestNicInfo {
		nic := &all.GuestNicInfo[i]
		out = append(out, vsphere.GuestInterface{Device: nic.DeviceConfigId, Addresses: nic.IpAddress})
	}
	return out
}

// questionOf returns the text of a VM's question.
func questionOf(o object) string {
	switch q := o.values[propQuestion].(type) {
	case types.VirtualMachineQuestionInfo:
		return shortened(q.Text)
	case *types.VirtualMachineQuestionInfo:
		if q != nil {
			return shortened(q.Text)
		}
	}
	return ""
}

// setBase sets a base property. It returns false for any other property name.
func setBase(vm *vsphere.VM, name string, o object) bool {
	switch name {
	case propName:
		vm.Name = shortened(o.text(name))
	case propParent:
		vm.Folder = o.refOf(name)
	case propPool:
		vm.ResourcePool = o.refOf(name)
	case propPower:
		vm.Power = power(o.text(name))
	case propBootTime:
		vm.BootTime = bootTime(o)
	case propConnection:
		vm.Connection = vsphere.Connection(o.text(name))
	case propGuestIP:
		vm.Addresses.Primary = shortened(o.text(name))
		vm.GuestIP = vm.Addresses.IP()
	case propGuestNet:
		vm.Addresses = vm.Addresses.WithInterfaces(interfacesOf(o))
		vm.GuestIP = vm.Addresses.IP()
	case propHeartbeat:
		vm.HeartbeatGreen = o.text(name) == string(types.ManagedEntityStatusGreen)
	case propQuestion:
		vm.Question = questionOf(o)
	case propTools:
		vm.ToolsRunning = o.text(name) == string(types.VirtualMachineToolsRunningStatusGuestToolsRunning)
	case propInstanceUUID:
		vm.InstanceUUID = shortened(o.text(name))
	case propDisabled:
		vm.Disabled = disabled(o)
	case propTemplate:
		vm.IsTemplate = o.yes(name)
	case propChangeVersion:
		vm.ChangeVersion = shortened(o.text(name))
	default:
		return false
	}
	return true
}

// disabled returns the first disabled method among those that change and stop a VM, or "". ShutdownGuest does not count: vCenter
// disables it wherever VMware Tools do not run.
func disabled(o object) string {
	all, _ := o.values[propDisabled].(types.ArrayOfString)
	for _, method := range []string{"ReconfigVM_Task", "PowerOffVM_Task"} {
		if slices.Contains(all.String, method) {
			return method
		}
	}
	return ""
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

// bootTime returns the time in UTC, so that equal moments are equal values.
func bootTime(o object) time.Time {
	at, _ := o.values[propBootTime].(time.Time)
	if at.IsZero() {
		return time.Time{}
	}
	return at.UTC()
}

func folderOf(o object) vsphere.Folder {
	return vsphere.Folder{Ref: o.ref, Name: shortened(o.text(propName)), Parent: o.refOf(propParent)}
}

// longestKept limits each text from vCenter that is stored per VM or folder, in bytes. A name has up to 80 characters, which are 240 bytes if all are escaped.
const longestKept = 512

// shortened returns the part of a text to store. A text longer than any of vCenter's is useless, and each VM would store it, so it is cut.
func shortened(s string) string {
	if len(s) <= longestKept {
		return s
	}
	return untrusted.Text(s, longestKept)
}
