package govmomi_test

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

func TestAReconfigurationIsOneCall(t *testing.T) {
	both(t, func(t *testing.T, mode govmomi.Mode) {
		r := newRig(t, mode).ensure()
		vm := r.clone(0)
		sent := func() int { return r.proxy.Count("ReconfigVM_Task", agent) }
		is := func(revision string, cpu int32) {
			t.Helper()
			r.until("reconfigured to "+revision, func() bool {
				now, _ := find(r.observe(), 0)
				return now.Stamp.Revision == revision && now.CPU == cpu && len(r.observe().InFlight) == 0
			})
			vm = r.settled(0)
		}
		place, err := r.server.Placement(vsphere.Placement{Network: "DC0_DVPG0"})
		must(t, err)
		must(t, r.server.Reconfigure(r.ctx, vsphere.Reconfiguration{Target: target(vm), Revision: "2-a", CPU: 4, MemoryMiB: 256, Network: place.Network}))
		is("2-a", 4)
		if n := sent(); n != 1 {
			t.Errorf("%d calls were sent, want 1", n)
		}
		must(t, r.server.Reconfigure(r.ctx, vsphere.Reconfiguration{Target: target(vm), Revision: "2-a", CPU: 4, MemoryMiB: 256, Network: place.Network}))
		is("2-a", 4)
		if n := sent(); n != 1 {
			t.Errorf("%d calls were sent for a VM that was like that already", n-1)
		}
	})
}

func TestALostReplyOfAReconfigurationIsSettled(t *testing.T) {
	both(t, func(t *testing.T, mode govmomi.Mode) {
		for _, act := range []faultproxy.Act{faultproxy.CutAfter, faultproxy.CutBefore} {
			r := newRig(t, mode, resyncOften).ensure()
			vm := r.clone(0)
			var lost atomic.Bool
			r.proxy.Hook(func(c sim.Call) faultproxy.Fault {
				if c.UserAgent == agent && c.Method == "ReconfigVM_Task" && lost.CompareAndSwap(false, true) {
					return faultproxy.Fault{Act: act}
				}
				return faultproxy.Fault{}
			})
			want := vsphere.Reconfiguration{Target: target(vm), Revision: "2-a", CPU: 4}
			must(t, r.server.Reconfigure(r.ctx, want))
			if o := r.observe(); len(o.InFlight) == 1 && !o.InFlight[0].OutcomeUnknown {
				t.Errorf("in flight: %+v, want one of unknown outcome", o.InFlight)
			}
			r.until("nothing is in flight", func() bool { return len(r.observe().InFlight) == 0 })
			now := r.settled(0)
			if done := want.Done(now); done != (act == faultproxy.CutAfter) {
				t.Errorf("%v: done is %v", act, done)
			}
			must(t, r.server.Reconfigure(r.ctx, vsphere.Reconfiguration{Target: target(now), Revision: "2-a", CPU: 4}))
			r.until("done", func() bool { now, _ := find(r.observe(), 0); return want.Done(now) && len(r.observe().InFlight) == 0 })
			if f := r.observe().Failures; len(f) > 0 {
				t.Errorf("failures are observed: %+v", f)
			}
		}
	})
}

func TestAPrivilegeOfSomeGroupsIsMissedByThemOnly(t *testing.T) {
	r := newRig(t, govmomi.Watch, func(o *sim.Options, _ *govmomi.Config) { o.Privileges = sim.RequiredPrivileges }).ensure()
	if missing := r.server.Health().MissingPrivileges; len(missing) > 0 {
		t.Errorf("the account is said to lack %v", missing)
	}
	if lacks := r.observe().Lacks; !slices.Equal(lacks, []string{vsphere.PrivilegeDisks, vsphere.PrivilegeDevices}) {
		t.Errorf("for changes of VMs the account is said to lack %v", lacks)
	}
	vm := r.clone(0)
	must(t, r.server.Reconfigure(r.ctx, vsphere.Reconfiguration{Target: target(vm), Revision: "2-a", CPU: 4, MemoryMiB: 256}))
	r.until("resized", func() bool { now, _ := find(r.observe(), 0); return now.CPU == 4 })
	vm = r.settled(0)
	place, err := r.server.Placement(vsphere.Placement{Network: "DC0_DVPG0"})
	must(t, err)
	err = r.server.Reconfigure(r.ctx, vsphere.Reconfiguration{Target: target(vm), Revision: "2-b", Network: place.Network})
	wantKind(t, err, vsphere.KindPermission)
	var e *vsphere.Error
	if !errors.As(err, &e) || !slices.Contains(sim.NetworkPrivileges, e.Privilege) {
		t.Errorf("the error names %+v, want one of %v", e, sim.NetworkPrivileges)
	}
	if f := r.observe().Failures; len(f) != 1 || vsphere.KindOf(f[0].Err) != vsphere.KindPermission {
		t.Errorf("failures are %+v", f)
	}
}
