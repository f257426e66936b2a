package govmomi_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// knockOften detects an unresponsive vCenter soon.
func knockOften(_ *sim.Options, cfg *govmomi.Config) { cfg.Session.KnockEvery = 3 * time.Second }

func TestASilentVCenterIsAwayUntilItAnswersAndIsThenUsedWithTheSameLogin(t *testing.T) {
	r := newRig(t, govmomi.Watch, knockOften).ensure()
	vm := r.clone(0)
	var silent atomic.Bool
	r.proxy.Hook(func(sim.Call) faultproxy.Fault {
		if silent.Load() {
			return faultproxy.Fault{Act: faultproxy.Hang}
		}
		return faultproxy.Fault{}
	})
	silent.Store(true)
	r.until("vCenter is unreachable", func() bool { return !r.server.Health().Reachable })
	if h := r.server.Health(); h.Complete || vsphere.KindOf(h.Err) != vsphere.KindTransient || !strings.Contains(h.Err.Error(), "answered nothing") {
		t.Errorf("health is %+v", h)
	}
	wantKind(t, r.server.PowerOn(r.ctx, target(vm)), vsphere.KindTransient)
	if o := r.observe(vm.Ref); len(o.VMs) != 1 || len(o.Gone) != 0 || o.Complete {
		t.Errorf("observation while vCenter is unreachable: %+v", o)
	}
	knocks := func() int { return r.proxy.Calls()[sim.Kind{UserAgent: agent}] } // knocks call no method
	others := func() (n int) {
		for call, count := range r.proxy.Calls() {
			if call.UserAgent == agent && call.Method != "" {
				n += count
			}
		}
		return n
	}
	before, attempts := knocks(), others()
	r.until("it is asked again and again whether it is back", func() bool { return knocks() > before+2 })
	if n := others() - attempts; n > 0 {
		t.Errorf("%d calls of attempts to connect although it does not answer", n)
	}
	silent.Store(false)
	r.connected()
	if n := r.proxy.Count("Login", agent); n != 1 {
		t.Errorf("%d logins, want 1", n)
	}
}
