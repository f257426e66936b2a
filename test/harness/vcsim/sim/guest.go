package sim

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// Keys of a VM's extraConfig that control its guest. A clone inherits them from its template: see Operator.Set and Operator.SetTemplate.
const (
	// GuestTools is the time from power-on until VMware Tools run, such as "2s". Without it they never run, unless a test sets
	// guest.toolsRunningStatus.
	GuestTools = "SIM.guest.tools"
	// GuestBoot is the boot time of the guest, such as "5s", or GuestNever. After it, VMware Tools run, the heartbeat is green and there is an IP
	// address, until the VM is powered off. It takes precedence over GuestTools.
	GuestBoot = "SIM.guest.boot"
	// GuestBridge is the address of a container bridge in the guest, which VMware Tools take for the guest's own address.
	GuestBridge = "SIM.guest.bridge"
	// GuestInfo precedes the key of a value that the guest writes, such as "guestinfo.ready". Its value has the time after the guest's boot, a
	// space, and the written text: "2s true". See GuestWrites.
	GuestInfo = "SIM.guest.info."
	// GuestShutdown is the time of a guest's shutdown after a request, such as "1s", or GuestNever. By default it takes no time.
	GuestShutdown = "SIM.guest.shutdown"
	// GuestNever is the GuestShutdown of a guest that ignores the request, and the GuestBoot of a guest that never boots.
	GuestNever = "never"
)

// GuestWrites returns the key and value of extraConfig that make a guest write a value.
func GuestWrites(key string, after time.Duration, value string) (string, string) {
	return GuestInfo + key, after.String() + " " + value
}

const (
	toolsRunning    = string(types.VirtualMachineToolsRunningStatusGuestToolsRunning)
	toolsNotRunning = string(types.VirtualMachineToolsRunningStatusGuestToolsNotRunning)
)

// checkTools refuses requests to a guest without running VMware Tools.
func checkTools(ctx *simulator.Context, ref types.ManagedObjectReference) (fault types.BaseMethodFault) {
	vm, ok := ctx.Map.Get(ref).(*simulator.VirtualMachine)
	if !ok {
		return nil
	}
	ctx.WithLock(vm, func() {
		running := vm.Guest != nil && vm.Guest.ToolsRunningStatus == toolsRunning
		// A powered-off VM is refused for its power state.
		if vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn && !running {
			fault = &types.ToolsUnavailable{}
		}
	})
	return fault
}

// guests sets and clears guest information with the power state of VMs that are configured for it.
type guests struct {
	mo.ManagedEntity

	// movesVersion is Options.MoveChangeVersion.
	movesVersion bool

	mu sync.Mutex
	// wrote contains the keys of extraConfig that a guest has written since power-on, with their earlier values.
	wrote map[types.ManagedObjectReference]map[string]string
}

// Reference of the handler.
func (*guests) Reference() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "Guests", Value: "guests"}
}

// PutObject does nothing, because a new VM is powered off.
func (*guests) PutObject(*simulator.Context, mo.Reference) {}

// RemoveObject forgets a deleted VM.
func (g *guests) RemoveObject(_ *simulator.Context, ref types.ManagedObjectReference) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.wrote, ref)
}

// UpdateObject reacts to power state changes of a VM. The caller holds the VM.
func (g *guests) UpdateObject(ctx *simulator.Context, o mo.Reference, changes []types.PropertyChange) {
	if o.Reference().Type != "VirtualMachine" {
		return
	}
	for _, c := range changes {
		if strings.HasPrefix(c.Name, "snapshot") {
			g.moveVersion(ctx, o)
		}
		if c.Name != "runtime.powerState" {
			continue
		}
		g.moveVersion(ctx, o)
		vm, ok := ctx.Map.Get(o.Reference()).(*simulator.VirtualMachine)
		if !ok {
			return
		}
		setBootTime(ctx, vm, c.Val)
		if c.Val == types.VirtualMachinePowerStatePoweredOn {
			g.boots(ctx, vm)
			continue
		}
		silence(ctx, vm)
		if c.Val == types.VirtualMachinePowerStatePoweredOff {
			g.forgets(ctx, vm)
		}
	}
}

// setBootTime sets the boot time, which the simulator sets only in the summary.
func setBootTime(ctx *simulator.Context, vm *simulator.VirtualMachine, power types.AnyType) {
	var at types.AnyType
	switch boot := vm.Summary.Runtime.BootTime; {
	case power == types.VirtualMachinePowerStateSuspended:
		return
	case power == types.VirtualMachinePowerStatePoweredOn && boot != nil:
		at = *boot
	}
	ctx.Update(vm, []types.PropertyChange{{Name: "runtime.bootTime", Val: at}})
}

// boots boots the guest of a powered-on VM. The caller holds the VM.
func (g *guests) boots(ctx *simulator.Context, vm *simulator.VirtualMachine) {
	takes := option(vm, GuestBoot)
	whole := takes != ""
	if !whole {
		takes = option(vm, GuestTools)
	}
	after, err := time.ParseDuration(takes)
	if err != nil {
		return // it never boots
	}
	whileOn(ctx, after, vm, func(ctx *simulator.Context) {
		setTools(ctx, vm, toolsRunning)
		if whole {
			tell(ctx, vm, types.ManagedEntityStatusGreen, address(vm))
			g.cloudInit(ctx, vm)
		}
		g.writes(ctx, vm, vm.Config.ExtraConfig)
	})
}

// writes makes a booted guest write the values of these keys. The caller holds the VM.
func (g *guests) writes(ctx *simulator.Context, vm *simulator.VirtualMachine, extra []types.BaseOptionValue) {
	if vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn || vm.Guest == nil || vm.Guest.ToolsRunningStatus != toolsRunning {
		return
	}
	for _, o := range extra {
		key, ok := strings.CutPrefix(o.GetOptionValue().Key, GuestInfo)
		said, _ := o.GetOptionValue().Value.(string)
		delay, value, _ := strings.Cut(said, " ")
		after, err := time.ParseDuration(delay)
		if !ok || err != nil {
			continue
		}
		whileOn(ctx, after, vm, func(ctx *simulator.Context) { g.write(ctx, vm, key, value) })
	}
}

// write makes a guest write a value. The caller holds the VM.
func (g *guests) write(ctx *simulator.Context, vm *simulator.VirtualMachine, key, value string) {
	g.mu.Lock()
	if g.wrote == nil {
		g.wrote = map[types.ManagedObjectReference]map[string]string{}
	}
	if g.wrote[vm.Self] == nil {
		g.wrote[vm.Self] = map[string]string{}
	}
	if _, again := g.wrote[vm.Self][key]; !again {
		g.wrote[vm.Self][key] = option(vm, key)
	}
	g.mu.Unlock()
	setOption(ctx, vm, key, value)
	g.moveVersion(ctx, vm)
}

// moveVersion changes the change version of a VM, if the option is set. The caller holds the VM.
func (g *guests) moveVersion(ctx *simulator.Context, o mo.Reference) {
	if vm, ok := ctx.Map.Get(o.Reference()).(*simulator.VirtualMachine); ok && g.movesVersion {
		moveVersion(ctx, vm)
	}
}

// moveVersion changes the change version of a VM. The caller holds the VM.
func moveVersion(ctx *simulator.Context, vm *simulator.VirtualMachine) {
	ctx.Update(vm, []types.PropertyChange{{Name: "config.changeVersion", Val: uuid.NewString()}})
}

// forgets restores the values that the guest has overwritten. The caller holds the VM.
func (g *guests) forgets(ctx *simulator.Context, vm *simulator.VirtualMachine) {
	g.mu.Lock()
	wrote := g.wrote[vm.Self]
	delete(g.wrote, vm.Self)
	g.mu.Unlock()
	for key, before := range wrote {
		setOption(ctx, vm, key, before)
	}
}

// silence clears the guest information of VMware Tools. The caller holds the VM.
func silence(ctx *simulator.Context, vm *simulator.VirtualMachine) {
	if option(vm, GuestTools) != "" || option(vm, GuestBoot) != "" {
		setTools(ctx, vm, toolsNotRunning)
	}
	if option(vm, GuestBoot) != "" {
		tell(ctx, vm, types.ManagedEntityStatusGray, "")
	}
}

// tell sets heartbeat and IP address.
func tell(ctx *simulator.Context, vm *simulator.VirtualMachine, heartbeat types.ManagedEntityStatus, ip string) {
	primary := ip
	var nets []types.GuestNicInfo
	for _, d := range vm.Config.Hardware.Device {
		card, ok := d.(types.BaseVirtualEthernetCard)
		if !ok {
			continue
		}
		nic := types.GuestNicInfo{DeviceConfigId: card.GetVirtualEthernetCard().Key, MacAddress: card.GetVirtualEthernetCard().MacAddress, Connected: ip != ""}
		if len(nets) == 0 && ip != "" {
			nic.IpAddress = []string{linkLocal, ip}
		}
		nets = append(nets, nic)
	}
	if bridge := option(vm, GuestBridge); bridge != "" && ip != "" {
		primary = bridge
		nets = append([]types.GuestNicInfo{{DeviceConfigId: -1, IpAddress: []string{bridge}}}, nets...)
	}
	ctx.Update(vm, []types.PropertyChange{
		{Name: "guestHeartbeatStatus", Val: heartbeat}, {Name: "guest.ipAddress", Val: primary}, {Name: "summary.guest.ipAddress", Val: primary},
		{Name: "guest.net", Val: nets},
	})
}

// linkLocal is an address that each interface assigns to itself.
const linkLocal = "fe80::250:56ff:fe00:1"

// address returns an address that no other VM of the simulator has.
func address(vm *simulator.VirtualMachine) string {
	_, number, _ := strings.Cut(vm.Self.Value, "-")
	n, _ := strconv.Atoi(number)
	return fmt.Sprintf("10.%d.%d.%d", n>>16&255, n>>8&255, n&255)
}

// setOption sets a value in the extraConfig of a VM, or removes it if it is empty. As for a guest, the change version stays. The caller holds the
// VM.
func setOption(ctx *simulator.Context, vm *simulator.VirtualMachine, key, value string) {
	extra := slices.DeleteFunc(slices.Clone(vm.Config.ExtraConfig), func(o types.BaseOptionValue) bool { return o.GetOptionValue().Key == key })
	if value != "" {
		extra = append(extra, &types.OptionValue{Key: key, Value: value})
	}
	ctx.Update(vm, []types.PropertyChange{{Name: "config.extraConfig", Val: extra}})
}

func setTools(ctx *simulator.Context, vm *simulator.VirtualMachine, status string) {
	ctx.Update(vm, []types.PropertyChange{{Name: "guest.toolsRunningStatus", Val: status}})
}

// option returns a value in the extraConfig of a VM, or "". The caller holds the VM.
func option(vm *simulator.VirtualMachine, key string) string {
	for _, o := range vm.Config.ExtraConfig {
		if kv := o.GetOptionValue(); kv.Key == key {
			value, _ := kv.Value.(string)
			return value
		}
	}
	return ""
}

// later calls do for a VM after a while, without a user, unless the VM was deleted in between.
func later(ctx *simulator.Context, after time.Duration, vm *simulator.VirtualMachine, do func(*simulator.Context)) {
	own := &simulator.Context{Context: context.Background(), Map: ctx.Map, Session: &simulator.Session{Registry: ctx.Session.Registry, Map: ctx.Session.Map}}
	time.AfterFunc(after, func() {
		own.WithLock(vm, func() {
			if own.Map.Get(vm.Self) != nil {
				do(own)
			}
		})
	})
}

// whileOn is later for a VM that must have been powered on all the time.
func whileOn(ctx *simulator.Context, after time.Duration, vm *simulator.VirtualMachine, do func(*simulator.Context)) {
	booted := vm.Summary.Runtime.BootTime
	later(ctx, after, vm, func(ctx *simulator.Context) {
		now := vm.Summary.Runtime.BootTime
		if vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn && booted != nil && now != nil && booted.Equal(*now) {
			do(ctx)
		}
	})
}

// ShutdownGuest sends a request to a guest, which shuts down as its VM's configuration specifies. VMware Tools stop at the beginning.
func (*desk) ShutdownGuest(ctx *simulator.Context, req *types.ShutdownGuest) (res soap.HasFault) {
	vm, ok := ctx.Map.Get(req.This).(*simulator.VirtualMachine)
	if !ok {
		return &methods.ShutdownGuestBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})}
	}
	ctx.WithLock(vm, func() {
		takes := option(vm, GuestShutdown)
		after, err := time.ParseDuration(takes)
		if vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn || takes == "" {
			res = vm.ShutdownGuest(ctx, req)
			return
		}
		res = &methods.ShutdownGuestBody{Res: &types.ShutdownGuestResponse{}}
		post(ctx, &types.VmGuestShutdownEvent{VmEvent: eventOf(ctx, vm)})
		if err != nil {
			return // it ignores the request
		}
		setTools(ctx, vm, toolsNotRunning)
		silence(ctx, vm)
		whileOn(ctx, after, vm, func(ctx *simulator.Context) {
			off := types.VirtualMachinePowerStatePoweredOff
			ctx.Update(vm, []types.PropertyChange{{Name: "runtime.powerState", Val: off}, {Name: "summary.runtime.powerState", Val: off}})
			post(ctx, &types.VmPoweredOffEvent{VmEvent: eventOf(ctx, vm)})
		})
	})
	return res
}
