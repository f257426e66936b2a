package govmomi_test

import (
	"bytes"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

const readyKey = "guestinfo.ready"

func (r *rig) guest(value string) vsphere.VM {
	vm, _ := find(r.server.Observe(vsphere.Query{ID: group, Folder: r.folder.Ref, GuestInfo: vsphere.GuestInfoQuery{Key: readyKey, Value: value}}), 0)
	return vm
}

func TestWhatAGuestHasWrittenDoesNotOutliveAPowerCycle(t *testing.T) {
	both(t, func(t *testing.T, mode govmomi.Mode) {
		r := newRig(t, mode).ensure()
		vm := r.clone(0)
		writes := func(after time.Duration) {
			key, value := sim.GuestWrites(readyKey, after, "true")
			must(t, r.person.Set(r.ctx, vmPath+"vg-0", map[string]string{sim.GuestBoot: "0s", key: value}))
		}
		writes(0)
		must(t, r.person.PowerOn(r.ctx, vmPath+"vg-0"))
		r.until("the guest is ready", func() bool { return r.guest("true").GuestInfo == "true" })
		vm = r.guest("true")

		must(t, r.person.PowerOff(r.ctx, vmPath+"vg-0"))
		writes(time.Hour)
		must(t, r.person.PowerOn(r.ctx, vmPath+"vg-0"))
		r.until("it was powered on anew", func() bool {
			now := r.guest("true")
			if now.BootTime.After(vm.BootTime) && now.GuestInfo != "" {
				t.Fatalf("after a power cycle it says %q", now.GuestInfo)
			}
			return now.BootTime.After(vm.BootTime) && now.GuestInfoKnown
		})
	})
}

func TestAGroupIsToldWhatItsGuestsHaveWritten(t *testing.T) {
	r := newRig(t, govmomi.Watch).ensure()
	r.clone(0)
	var reads atomic.Bool
	released := make(chan struct{})
	release := sync.OnceFunc(func() { close(released) })
	t.Cleanup(release)
	r.proxy.Hook(func(sim.Call) faultproxy.Fault {
		return faultproxy.Fault{Rewrite: func(request []byte) []byte {
			if bytes.Contains(request, []byte(readyKey)) {
				reads.Store(true)
				<-released
			}
			return request
		}}
	})
	key, value := sim.GuestWrites(readyKey, 0, "true")
	must(t, r.person.Set(r.ctx, vmPath+"vg-0", map[string]string{sim.GuestBoot: "0s", key: value}))
	must(t, r.person.PowerOn(r.ctx, vmPath+"vg-0"))
	r.until("the guest has booted, and what it wrote is being read", func() bool {
		vm := r.guest("true")
		return reads.Load() && vm.ToolsRunning && vm.HeartbeatGreen && vm.GuestIP != ""
	})
	// From now on, no pass observes: the group must be notified.
	told := r.told.count(group.Key())
	release()
	r.until("the group is notified", func() bool { return r.told.count(group.Key()) > told })
	r.until("it is ready", func() bool { return r.guest("true").GuestInfo == "true" })
}

// TestWhatAGuestWroteDuringAnOutageIsReadWithTheNextConnection: the clock stands still, so no other read is due.
func TestWhatAGuestWroteDuringAnOutageIsReadWithTheNextConnection(t *testing.T) {
	var stopped atomic.Pointer[time.Time]
	r := newRig(t, govmomi.Watch, func(_ *sim.Options, cfg *govmomi.Config) {
		cfg.Now = func() time.Time {
			if at := stopped.Load(); at != nil {
				return *at
			}
			return time.Now()
		}
	}).ensure()
	r.clone(0)
	writes := func(after time.Duration) {
		key, value := sim.GuestWrites(readyKey, after, "true")
		must(t, r.person.Set(r.ctx, vmPath+"vg-0", map[string]string{sim.GuestBoot: "0s", key: value}))
	}
	writes(time.Hour)
	stopped.Store(new(time.Now()))
	must(t, r.person.PowerOn(r.ctx, vmPath+"vg-0"))
	r.until("it is known that nothing is written", func() bool { vm := r.guest("true"); return vm.GuestInfoKnown && vm.Power == vsphere.PoweredOn })
	writes(0)
	if _, err := r.person.TerminateSessions(r.ctx); err != nil {
		t.Fatal(err)
	}
	r.until("it is read over the next connection", func() bool { return r.guest("true").GuestInfo == "true" })
}
