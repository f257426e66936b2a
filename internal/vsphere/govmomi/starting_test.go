package govmomi_test

import (
	"sync/atomic"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// TestPagesMayBeSmallerThanAskedFor: vCenter chooses the number of objects in a response, and the
// operator misses none of them.
func TestPagesMayBeSmallerThanAskedFor(t *testing.T) {
	both(t, func(t *testing.T, mode govmomi.Mode) {
		r := newRig(t, mode, func(o *sim.Options, _ *govmomi.Config) { o.PageSize = 1 }).ensure()
		vms := []vsphere.VM{r.clone(0), r.clone(1), r.clone(2)}
		r.stop()
		r.start()
		r.connected()
		r.until("all VMs are known", func() bool { o := r.observe(); return o.Complete && len(o.VMs) == len(vms) })
		method := map[govmomi.Mode]string{govmomi.Watch: "WaitForUpdatesEx", govmomi.Poll: "ContinueRetrievePropertiesEx"}[mode]
		if n := r.proxy.Count(method, agent); n < len(vms) {
			t.Errorf("%d calls of %s: the pages are not small", n, method)
		}
		must(t, r.person.PowerOn(r.ctx, vmPath+"vg-1"))
		r.until("news come", func() bool { vm, ok := find(r.observe(), 1); return ok && vm.Power == vsphere.PoweredOn })
	})
}

// TestAVCenterThatStartsIsWaitedFor: its web server returns an HTML page while vpxd starts. That is
// no API response: nothing counts as deleted, and the login is used again.
func TestAVCenterThatStartsIsWaitedFor(t *testing.T) {
	r := newRig(t, govmomi.Poll).ensure()
	vm := r.clone(0)
	var starts atomic.Bool
	var pages atomic.Int32
	starts.Store(true)
	r.proxy.Hook(func(c sim.Call) faultproxy.Fault {
		if c.UserAgent != agent || !starts.Load() {
			return faultproxy.Fault{}
		}
		pages.Add(1)
		return sim.Starting()
	})
	r.until("vCenter is unreachable", func() bool { return !r.server.Health().Reachable })
	if h := r.server.Health(); vsphere.KindOf(h.Err) != vsphere.KindTransient || h.SuddenlyEmpty {
		t.Errorf("health is %+v", h)
	}
	if o := r.observe(vm.Ref); len(o.VMs) != 1 || len(o.Gone) != 0 || o.Complete {
		t.Errorf("observation while it starts: %+v", o)
	}
	wantKind(t, r.server.PowerOn(r.ctx, target(vm)), vsphere.KindTransient)
	before := pages.Load()
	r.until("it is asked again", func() bool { return pages.Load() > before+1 })
	starts.Store(false)
	r.connected()
	if n := r.proxy.Count("Login", agent); n != 1 {
		t.Errorf("%d logins, want 1", n)
	}
}
