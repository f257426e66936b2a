//go:build unix && slow

package cli

import (
	"sync/atomic"
	"testing"

	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

// TestAnInterruptedJoinIsCompletedOrUndoneByTheNext breaks the connection at each write of each side, before and after the API server acts.
func TestAnInterruptedJoinIsCompletedOrUndoneByTheNext(t *testing.T) {
	b := newBench(t)
	hub, member := b.through(b.servers.hub, "hub", nil), b.through(b.servers.member, "edge", nil)
	trials := 0
	for _, act := range []faultproxy.Act{faultproxy.CutBefore, faultproxy.CutAfter} {
		for _, side := range []*localcluster.APIProxy{hub, member} {
			for nth := 1; ; nth++ {
				reached := cutAt(side, act, nth)
				_, err := b.join("cut")
				side.Hook(nil)
				if !reached() {
					b.must(err)
					break
				}
				trials++
				b.endNamespace(t.Context())
				_, err = b.join("cut")
				b.must(err)
				if user := b.userOf("cut", "member"); user != "system:serviceaccount:vmgroup-operator:vmgroup-operator-member" {
					t.Fatalf("%s call %d: the kubeconfig is of %s", act, nth, user)
				}
				b.clean()
			}
			b.clean()
		}
	}
	t.Logf("%d trials", trials)
	if trials < 50 {
		t.Errorf("%d trials", trials)
	}
}

// cutAt cuts the connection at the nth write. The function that it returns reports whether there was one.
func cutAt(side *localcluster.APIProxy, act faultproxy.Act, nth int) (reached func() bool) {
	var writes atomic.Int64
	side.Hook(func(call localcluster.APICall) faultproxy.Fault {
		if call.Writes() && !call.DryRun && writes.Add(1) == int64(nth) {
			return faultproxy.Fault{Act: act}
		}
		return faultproxy.Fault{}
	})
	return func() bool { return writes.Load() >= int64(nth) }
}
