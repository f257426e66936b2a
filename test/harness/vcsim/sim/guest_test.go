package sim_test

import (
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

func TestAGuestWithoutToolsDoesNotShutDown(t *testing.T) {
	h := person(t, sim.Options{})
	refused[*types.InvalidPowerState](t, h.vm(ordinary).ShutdownGuest(h.ctx))
	must(t, h.PowerOn(h.ctx, ordinary))
	refused[*types.ToolsUnavailable](t, h.vm(ordinary).ShutdownGuest(h.ctx))
	must(t, h.Set(h.ctx, ordinary, map[string]string{"SET.guest.toolsRunningStatus": "guestToolsRunning"}))
	must(t, h.vm(ordinary).ShutdownGuest(h.ctx))
}

func TestToolsComeAndGoWithPower(t *testing.T) {
	h := person(t, sim.Options{})
	const never = "1h"
	must(t, h.SetTemplate(h.ctx, template, map[string]string{sim.GuestTools: never, sim.GuestShutdown: never}))
	must(t, h.clone(template, root, "web", nil))
	web := root + "/web"
	must(t, h.PowerOn(h.ctx, web))
	refused[*types.ToolsUnavailable](t, h.vm(web).ShutdownGuest(h.ctx)) // the guest boots
	must(t, h.PowerOff(h.ctx, web))

	must(t, h.Set(h.ctx, web, map[string]string{sim.GuestTools: "10ms"}))
	must(t, h.PowerOn(h.ctx, web))
	h.guest(true, true, web)
	must(t, h.vm(web).ShutdownGuest(h.ctx))
	h.guest(false, true, web) // the guest shuts down
	must(t, h.PowerOff(h.ctx, web))

	must(t, h.Set(h.ctx, web, map[string]string{sim.GuestShutdown: "10ms"}))
	must(t, h.PowerOn(h.ctx, web))
	h.guest(true, true, web)
	must(t, h.vm(web).ShutdownGuest(h.ctx))
	h.guest(false, false, web)
	must(t, h.PowerOn(h.ctx, web))
	h.guest(true, true, web)
	must(t, h.PowerOff(h.ctx, web))
	h.guest(false, false, web)
}

func TestAGuestThatIgnoresItsShutdownIsPoweredOff(t *testing.T) {
	h := person(t, sim.Options{})
	must(t, h.Set(h.ctx, ordinary, map[string]string{sim.GuestTools: "0s", sim.GuestShutdown: sim.GuestNever}))
	must(t, h.PowerOn(h.ctx, ordinary))
	h.guest(true, true, ordinary)
	must(t, h.vm(ordinary).ShutdownGuest(h.ctx))
	h.guest(true, true, ordinary)
	must(t, h.PowerOff(h.ctx, ordinary))
}

// guest waits until VMware Tools and the power of a VM are like that.
func (h hand) guest(tools, on bool, path string) {
	h.t.Helper()
	h.until("the guest of "+path, func() bool {
		vms, err := h.VMs(h.ctx)
		must(h.t, err)
		return vms[path].Tools == tools && vms[path].On == on
	})
}
