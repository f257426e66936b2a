package govmomi_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// TestAListingWithoutEndIsReadOnceAndReported: the connection ends, the known state stays, and the listing is not
// repeated at once. The bound is small, because the race detector is slow with the real one.
func TestAListingWithoutEndIsReadOnceAndReported(t *testing.T) {
	both(t, func(t *testing.T, mode govmomi.Mode) {
		r := newRig(t, mode, func(_ *sim.Options, cfg *govmomi.Config) { cfg.Session.PageBytes = 1 << 20 }).ensure()
		vm := r.clone(0)
		method := map[govmomi.Mode]string{govmomi.Watch: "WaitForUpdatesEx", govmomi.Poll: "RetrievePropertiesEx"}[mode]
		var answers atomic.Int32
		r.proxy.Hook(func(c sim.Call) faultproxy.Fault {
			if c.UserAgent != agent || c.Method != method {
				return faultproxy.Fault{}
			}
			return faultproxy.Fault{Act: faultproxy.Answer, Serve: func(w http.ResponseWriter, _ *http.Request) {
				answers.Add(1)
				comments := strings.Repeat("<!-- -->", 8<<10)
				for {
					if _, err := io.WriteString(w, comments); err != nil {
						return
					}
				}
			}}
		})
		must(t, r.person.PowerOn(r.ctx, vmPath+"vg-0")) // the wait for news ends, and the next one begins
		r.until("it is left", func() bool { return !r.server.Health().Reachable })
		h := r.server.Health()
		if vsphere.KindOf(h.Err) != vsphere.KindLimitExceeded || !strings.Contains(h.Err.Error(), method+": the answer has more than 1 MiB") {
			t.Errorf("health is %v", h.Err)
		}
		if o := r.observe(vm.Ref); len(o.VMs) != 1 || len(o.Gone) != 0 || o.Complete {
			t.Errorf("observation while vCenter is unreachable: %+v", o)
		}
		if n := answers.Load(); n > 2 { // guest values are read in parallel with a listing
			t.Errorf("%d answers were read", n)
		}
	})
}
