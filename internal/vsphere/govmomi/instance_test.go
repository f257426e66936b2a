package govmomi_test

import (
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// An instance UUID is in status, and in commands that a hub administrator copies into a shell.
func TestAServerWhoseInstanceIsACommandIsNotUsed(t *testing.T) {
	for _, uuid := range []string{"$(reboot)", "x; kubectl delete crds --all", strings.Repeat("a", 65)} {
		r := newRig(t, govmomi.Poll, func(o *sim.Options, _ *govmomi.Config) { o.InstanceUUID = uuid })
		r.until("it is refused, or used", func() bool { h := r.server.Health(); return h.Reachable || vsphere.KindOf(h.Err) == vsphere.KindSpec })
		if h := r.server.Health(); h.Reachable || h.InstanceUUID != "" || strings.Contains(h.Err.Error(), uuid) {
			t.Errorf("%s: %+v", uuid, h)
		}
	}
}
