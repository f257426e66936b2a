package sim

import (
	"slices"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// hardwareOf returns the hardware for a clone: the source's or the snapshot's. The caller holds the source.
func hardwareOf(ctx *simulator.Context, source *simulator.VirtualMachine, snapshot *types.ManagedObjectReference) types.VirtualHardware {
	if snapshot != nil {
		if s, ok := ctx.Map.Get(*snapshot).(*simulator.VirtualMachineSnapshot); ok {
			return s.Config.Hardware
		}
	}
	return source.Config.Hardware
}

// inherit adds the inherited settings of the source to a clone's configuration. The caller holds the source.
func inherit(source *simulator.VirtualMachine, cloned types.VirtualHardware, spec *types.VirtualMachineConfigSpec) {
	from := source.Config
	for _, o := range from.ExtraConfig {
		option := *o.GetOptionValue()
		named := slices.ContainsFunc(spec.ExtraConfig, func(o types.BaseOptionValue) bool { return o.GetOptionValue().Key == option.Key })
		if !named {
			spec.ExtraConfig = append(spec.ExtraConfig, &option)
		}
	}
	// An empty value removes a key, even if it does not exist. The simulator would keep it.
	spec.ExtraConfig = slices.DeleteFunc(spec.ExtraConfig, func(o types.BaseOptionValue) bool { return o.GetOptionValue().Value == "" })
	if spec.Annotation == "" {
		spec.Annotation = from.Annotation
	}
	for _, flag := range []struct{ to, from **bool }{
		{&spec.CpuHotAddEnabled, &from.CpuHotAddEnabled},
		{&spec.CpuHotRemoveEnabled, &from.CpuHotRemoveEnabled},
		{&spec.MemoryHotAddEnabled, &from.MemoryHotAddEnabled},
	} {
		if *flag.to == nil {
			*flag.to = *flag.from
		}
	}
	if spec.NumCoresPerSocket == nil {
		spec.NumCoresPerSocket = cloned.NumCoresPerSocket
	}
}

// complete adds the parts of a clone's configuration that the simulator omits. The caller holds the clone.
func complete(ctx *simulator.Context, ref types.ManagedObjectReference, spec *types.VirtualMachineConfigSpec, snapshot *types.ManagedObjectReference) {
	vm, ok := ctx.Map.Get(ref).(*simulator.VirtualMachine)
	if !ok {
		return
	}
	changes := []types.PropertyChange{{Name: "config.hardware.device", Val: disksOfSource(ctx, vm, snapshot)}}
	set := func(name string, to *bool) {
		if to != nil {
			changes = append(changes, types.PropertyChange{Name: "config." + name, Val: *to})
		}
	}
	set("cpuHotAddEnabled", spec.CpuHotAddEnabled)
	set("cpuHotRemoveEnabled", spec.CpuHotRemoveEnabled)
	set("memoryHotAddEnabled", spec.MemoryHotAddEnabled)
	if spec.Annotation != "" {
		changes = append(changes, types.PropertyChange{Name: "config.annotation", Val: spec.Annotation})
	}
	if n := spec.NumCoresPerSocket; n != nil {
		changes = append(changes, types.PropertyChange{Name: "config.hardware.numCoresPerSocket", Val: *n})
	}
	ctx.Update(vm, changes)
	setHotPlug(ctx, vm)
}

// disksOfSource returns a clone's devices without the disks that its source got after the snapshot. The copy of a First Class Disk is an
// ordinary disk.
func disksOfSource(ctx *simulator.Context, clone *simulator.VirtualMachine, snapshot *types.ManagedObjectReference) []types.BaseVirtualDevice {
	var taken object.VirtualDeviceList
	if snapshot != nil {
		if s, ok := ctx.Map.Get(*snapshot).(*simulator.VirtualMachineSnapshot); ok {
			taken = s.Config.Hardware.Device
		}
	}
	var devices []types.BaseVirtualDevice
	for _, d := range clone.Config.Hardware.Device {
		disk, ok := d.(*types.VirtualDisk)
		if ok && snapshot != nil && taken.FindByKey(disk.Key) == nil {
			continue
		}
		if ok {
			disk.VDiskId = nil
		}
		devices = append(devices, d)
	}
	return devices
}
