package sim_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/object"
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

func TestAGuestBootsWithItsVM(t *testing.T) {
	h := person(t, sim.Options{})
	boot := "1h"
	must(t, h.SetTemplate(h.ctx, template, map[string]string{sim.GuestBoot: boot}))
	must(t, h.clone(template, root, "web", nil))
	must(t, h.clone(template, root, "db", nil))
	const web, db = root + "/web", root + "/db"
	told := func(path string) sim.VM {
		vms, err := h.VMs(h.ctx)
		must(t, err)
		return vms[path]
	}
	nothing := func(vm sim.VM) bool { return !vm.Tools && !vm.Heartbeat && vm.IP == "" }
	everything := func(vm sim.VM) bool { return vm.Tools && vm.Heartbeat && vm.IP != "" }

	must(t, h.PowerOn(h.ctx, web))
	first := told(web)
	if !nothing(first) || first.BootTime == nil {
		t.Errorf("while the guest boots, it reports %+v", first)
	}
	must(t, h.PowerOff(h.ctx, web))
	for _, path := range []string{web, db} {
		must(t, h.Set(h.ctx, path, map[string]string{sim.GuestBoot: "10ms"}))
		must(t, h.PowerOn(h.ctx, path))
		h.until(path+" has booted", func() bool { return everything(told(path)) })
	}
	if second := told(web); !second.BootTime.After(*first.BootTime) || second.IP == told(db).IP {
		t.Errorf("%s reports %+v, and %s %+v", web, second, db, told(db))
	}
	must(t, h.PowerOff(h.ctx, web))
	if off := told(web); !nothing(off) || off.BootTime != nil {
		t.Errorf("while the VM is off, its guest reports %+v", off)
	}
	must(t, h.Set(h.ctx, db, map[string]string{sim.GuestShutdown: "1h"}))
	must(t, h.ShutdownGuest(h.ctx, db))
	if down := told(db); !down.On || !nothing(down) {
		t.Errorf("while the guest shuts down, it reports %+v", down)
	}
}

// An event scheduled in an earlier run of the VM does not happen in its next one.
func TestAGuestThatWasPoweredOffDoesNotBootLater(t *testing.T) {
	h := person(t, sim.Options{})
	must(t, h.clone(template, root, "later", nil))
	const later = root + "/later"
	for _, path := range []string{ordinary, later} {
		must(t, h.Set(h.ctx, path, map[string]string{sim.GuestBoot: "300ms"}))
	}
	must(t, h.PowerOn(h.ctx, ordinary))
	must(t, h.PowerOff(h.ctx, ordinary))
	must(t, h.Set(h.ctx, ordinary, map[string]string{sim.GuestBoot: "1h"}))
	must(t, h.PowerOn(h.ctx, ordinary))
	must(t, h.PowerOn(h.ctx, later))
	h.guest(true, true, later)
	vms, err := h.VMs(h.ctx)
	must(t, err)
	if vms[ordinary].Tools {
		t.Error("the guest has booted as it was to in an earlier life of its VM")
	}
}

func TestAGuestThatNeverBootsTellsNothing(t *testing.T) {
	h := person(t, sim.Options{})
	must(t, h.SetTemplate(h.ctx, template, map[string]string{sim.GuestTools: "0s", sim.GuestBoot: sim.GuestNever, sim.GuestInfo + "guestinfo.ready": "0s true"}))
	must(t, h.clone(template, root, "web", nil))
	must(t, h.clone(template, root, "db", nil))
	must(t, h.PowerOn(h.ctx, root+"/web"))
	must(t, h.Set(h.ctx, root+"/db", map[string]string{sim.GuestBoot: "50ms"}))
	must(t, h.PowerOn(h.ctx, root+"/db"))
	h.guest(true, true, root+"/db")
	vms, err := h.VMs(h.ctx)
	must(t, err)
	if web := vms[root+"/web"]; web.Tools || web.Heartbeat || web.IP != "" || web.Extra["guestinfo.ready"] != "" {
		t.Errorf("the guest that never boots reports %+v", web)
	}
}

func TestAGuestWritesValuesThatAreGoneWhenItsVMIsOff(t *testing.T) {
	h := person(t, sim.Options{})
	const ready, old, late = "guestinfo.ready", "guestinfo.old", "guestinfo.late"
	keys := map[string]string{sim.GuestBoot: "0s", old: "before"}
	for key, after := range map[string]time.Duration{ready: 0, old: 10 * time.Millisecond, late: time.Hour} {
		k, v := sim.GuestWrites(key, after, "now")
		keys[k] = v
	}
	must(t, h.Set(h.ctx, ordinary, keys))
	must(t, h.PowerOn(h.ctx, ordinary))
	version := h.config(ordinary).ChangeVersion
	is := func(values ...string) {
		t.Helper()
		h.until("the keys have the values "+strings.Join(values, ", "), func() bool {
			extra := object.OptionValueList(h.config(ordinary).ExtraConfig)
			return slices.EqualFunc([]string{ready, old, late}, values, func(key, want string) bool {
				value, _ := extra.GetString(key)
				return value == want
			})
		})
	}
	is("now", "now", "")
	if now := h.config(ordinary).ChangeVersion; now != version {
		t.Errorf("the guest's writing moved the change version from %s to %s", version, now)
	}
	k, v := sim.GuestWrites(ready, 0, "again")
	must(t, h.Set(h.ctx, ordinary, map[string]string{k: v}))
	is("again", "now", "")
	must(t, h.PowerOff(h.ctx, ordinary))
	is("", "before", "")
}

// guest waits for these states of VMware Tools and the power of a VM.
func (h hand) guest(tools, on bool, path string) {
	h.t.Helper()
	h.until("the guest of "+path, func() bool {
		vms, err := h.VMs(h.ctx)
		must(h.t, err)
		return vms[path].Tools == tools && vms[path].On == on
	})
}

func TestAGuestReadsNoMoreOfAValueThanVSphereHandsOver(t *testing.T) {
	h := person(t, sim.Options{})
	must(t, h.Set(h.ctx, ordinary, map[string]string{"guestinfo.userdata": strings.Repeat("a", 70_000), "guestinfo.metadata": "short", "other": "x"}))
	got, err := h.GuestInfo(h.ctx, ordinary)
	must(t, err)
	if len(got) != 2 || got["guestinfo.userdata"] != strings.Repeat("a", 65_536) || got["guestinfo.metadata"] != "short" {
		t.Errorf("a guest reads %d values, and %d bytes of user data", len(got), len(got["guestinfo.userdata"]))
	}
}
