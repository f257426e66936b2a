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

// Keys of a VM's extraConfig that say how its guest behaves. A clone has them from its template: see Operator.Set and
// Operator.SetTemplate.
const (
	// GuestTools is how long after power-on VMware Tools run, such as "2s". Without it they never do, unless somebody sets
	// guest.toolsRunningStatus.
	GuestTools = "SIM.guest.tools"
	// GuestBoot is how long the guest takes to boot, such as "5s", or GuestNever. Then VMware Tools run, the heartbeat is green and there is an IP
	// address; all of that is gone while the VM is off. It wins over GuestTools.
	GuestBoot = "SIM.guest.boot"
	// GuestBridge is the address of a bridge for containers in the guest, which VMware Tools take for the guest's own.
	GuestBridge = "SIM.guest.bridge"
	// GuestInfo is followed by the key of a value that the guest writes, such as "guestinfo.ready". Its value is how long after the guest has booted,
	// a space, and what the guest writes: "2s true". See GuestWrites.
	GuestInfo = "SIM.guest.info."
	// GuestShutdown is how long the guest takes to shut down once it was asked, such as "1s", or GuestNever. Without it no time at all.
	GuestShutdown = "SIM.guest.shutdown"
	// GuestNever is the GuestShutdown of a guest that ignores the request, and the GuestBoot of one that never boots.
	GuestNever = "never"
)

// GuestWrites is the key of extraConfig that has a guest write a value, and its value.
func GuestWrites(key string, after time.Duration, value string) (string, string) {
	return GuestInfo + key, after.String() + " " + value
}

const (
	toolsRunning    = string(types.VirtualMachineToolsRunningStatusGuestToolsRunning)
	toolsNotRunning = string(types.VirtualMachineToolsRunningStatusGuestToolsNotRunning)
)

// checkTools refuses to ask a guest for something when VMware Tools do not run in it.
func checkTools(ctx *simulator.Context, ref types.ManagedObjectReference) (fault types.BaseMethodFault) {
	vm, ok := ctx.Map.Get(ref).(*simulator.VirtualMachine)
	if !ok {
		return nil
	}
	ctx.WithLock(vm, func() {
		running := vm.Guest != nil && vm.Guest.ToolsRunningStatus == toolsRunning
		// A VM that is off is refused for that.
		if vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn && !running {
			fault = &types.ToolsUnavailable{}
		}
	})
	return fault
}

// guests has what a guest tells come and go with the power of VMs whose configuration says so.
type guests struct {
	mo.ManagedEntity

	// movesVersion is Options.MoveChangeVersion.
	movesVersion bool

	mu sync.Mutex
	// wrote are the keys of extraConfig that a guest has written since its VM was powered on, with what was there before.
	wrote map[types.ManagedObjectReference]map[string]string
}

// Reference of the handler.
func (*guests) Reference() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "Guests", Value: "guests"}
}

// PutObject does nothing: a new VM is off.
func (*guests) PutObject(*simulator.Context, mo.Reference) {}

// RemoveObject forgets a VM that is gone.
func (g *guests) RemoveObject(_ *simulator.Context, ref types.ManagedObjectReference) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.wrote, ref)
}

// UpdateObject sees the power of a VM change. Who changes it holds the VM.
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

// setBootTime does what the simulator does for the summary only.
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

// boots has the guest of a VM that was powered on boot. The caller holds the VM.
func (g *guests) boots(ctx *simulator.Context, vm *simulator.VirtualMachine) {
	takes := option(vm, GuestBoot)
	whole := takes != ""
	if !whole {
		takes = option(vm, GuestTools)
	}
	after, err := time.ParseDuration(takes)
	if err != nil {
		return // it never does
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

// writes has a guest that has booted write the values that these keys say. The caller holds the VM.
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

// write has a guest write a value. The caller holds the VM.
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

// moveVersion gives a VM another change version, if that is wanted. The caller holds the VM.
func (g *guests) moveVersion(ctx *simulator.Context, o mo.Reference) {
	if vm, ok := ctx.Map.Get(o.Reference()).(*simulator.VirtualMachine); ok && g.movesVersion {
		moveVersion(ctx, vm)
	}
}

// moveVersion gives a VM another change version. The caller holds the VM.
func moveVersion(ctx *simulator.Context, vm *simulator.VirtualMachine) {
	ctx.Update(vm, []types.PropertyChange{{Name: "config.changeVersion", Val: uuid.NewString()}})
}

// forgets takes back what the guest has written. The caller holds the VM.
func (g *guests) forgets(ctx *simulator.Context, vm *simulator.VirtualMachine) {
	g.mu.Lock()
	wrote := g.wrote[vm.Self]
	delete(g.wrote, vm.Self)
	g.mu.Unlock()
	for key, before := range wrote {
		setOption(ctx, vm, key, before)
	}
}

// silence ends what VMware Tools tell of a guest. The caller holds the VM.
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

// linkLocal is an address that each interface gives itself.
const linkLocal = "fe80::250:56ff:fe00:1"

// address is one that no other VM of the simulator has.
func address(vm *simulator.VirtualMachine) string {
	_, number, _ := strings.Cut(vm.Self.Value, "-")
	n, _ := strconv.Atoi(number)
	return fmt.Sprintf("10.%d.%d.%d", n>>16&255, n>>8&255, n&255)
}

// setOption sets a value in the extraConfig of a VM that the caller holds, or removes it if it is empty, as a guest does: the change version stays.
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

// option is a value in the extraConfig of a VM that the caller holds, or empty.
func option(vm *simulator.VirtualMachine, key string) string {
	for _, o := range vm.Config.ExtraConfig {
		if kv := o.GetOptionValue(); kv.Key == key {
			value, _ := kv.Value.(string)
			return value
		}
	}
	return ""
}

// later does something with a VM after a while, on nobody's behalf, unless the VM is gone by then.
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

// whileOn is later for a VM that has been on all the time.
func whileOn(ctx *simulator.Context, after time.Duration, vm *simulator.VirtualMachine, do func(*simulator.Context)) {
	booted := vm.Summary.Runtime.BootTime
	later(ctx, after, vm, func(ctx *simulator.Context) {
		now := vm.Summary.Runtime.BootTime
		if vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn && booted != nil && now != nil && booted.Equal(*now) {
			do(ctx)
		}
	})
}

// ShutdownGuest asks a guest, which shuts down as its VM's configuration says. VMware Tools stop when it begins.
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
