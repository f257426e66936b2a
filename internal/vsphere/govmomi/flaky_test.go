package govmomi_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

func TestAVCenterThatFailsAThirdOfAllReadsIsWorkedWithOverOneConnection(t *testing.T) {
	both(t, func(t *testing.T, mode govmomi.Mode) {
		r := newRig(t, mode).connected()
		acts := []faultproxy.Fault{{Act: faultproxy.CutBefore}, {Act: faultproxy.CutAfter}, {Act: faultproxy.Answer, Status: 503}}
		var mu sync.Mutex
		chance := rand.New(rand.NewPCG(1, 2))
		r.proxy.Hook(func(c sim.Call) faultproxy.Fault {
			mu.Lock()
			defer mu.Unlock()
			if c.UserAgent != agent || c.Changes || c.Method == "Login" || chance.IntN(3) > 0 {
				return faultproxy.Fault{}
			}
			return acts[chance.IntN(len(acts))]
		})
		// A process that starts now has to connect, which takes a dozen consecutive calls.
		r.stop()
		r.proxy.Reset()
		r.start()
		r.ensure()
		for i := range int32(3) {
			r.clone(i)
		}
		if n := r.proxy.Count("Login", agent); n != 1 {
			t.Errorf("%d logins, want 1", n)
		}
		if n := r.proxy.Count("CloneVM_Task", agent); n != 3 {
			t.Errorf("%d clones were asked for, want 3", n)
		}
	})
}

func TestNewsThatWasLostIsHadWithANewStreamOverTheSameConnection(t *testing.T) {
	r := newRig(t, govmomi.Watch).ensure()
	vm := r.clone(0)
	connects := func() int { return r.proxy.Count("FetchUserPrivilegeOnEntities", agent) }
	before := connects()
	var lost atomic.Bool
	r.proxy.Hook(func(c sim.Call) faultproxy.Fault {
		// The call in flight has already passed the proxy; the response of the next one has the news.
		if c.Method == "WaitForUpdatesEx" && c.UserAgent == agent && lost.CompareAndSwap(false, true) {
			return faultproxy.Fault{Act: faultproxy.CutAfter}
		}
		return faultproxy.Fault{}
	})
	shows := func(power vsphere.PowerState) bool {
		now, ok := find(r.observe(vm.Ref), 0)
		return ok && now.Power == power
	}
	must(t, r.person.PowerOn(r.ctx, vmPath+"vg-0"))
	r.until("the stream shows it", func() bool { return lost.Load() && shows(vsphere.PoweredOn) })
	must(t, r.person.PowerOff(r.ctx, vmPath+"vg-0"))
	r.until("the next stream shows what was lost", func() bool { return shows(vsphere.PoweredOff) })
	if n := connects() - before; n != 0 {
		t.Errorf("connected %d times anew", n)
	}
	if !r.server.Health().Reachable || r.proxy.Count("Login", agent) != 1 {
		t.Errorf("health %+v, %d logins", r.server.Health(), r.proxy.Count("Login", agent))
	}
}
