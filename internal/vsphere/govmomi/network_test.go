package govmomi_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// Without System.Read on the switch, vCenter leaves its reference unset, or denies its UUID. This
// was reported as a transient error, without a privilege.
func TestAPortGroupWhoseSwitchIsHiddenIsRefusedWithThePrivilege(t *testing.T) {
	for _, shown := range []bool{false, true} {
		r := newRig(t, govmomi.Watch, func(o *sim.Options, _ *govmomi.Config) { o.ShowHiddenReferences = shown }).ensure()
		dvs, err := newFinder(r).Network(r.ctx, "/DC0/network/DVS0")
		must(t, err)
		r.sim.Hide(dvs.Reference())
		req := r.request(0)
		place, err := r.server.Placement(vsphere.Placement{Network: "DC0_DVPG0"})
		must(t, err)
		req.Placement = place
		err = r.server.Clone(r.ctx, req)
		wantKind(t, err, vsphere.KindPermission)
		var e *vsphere.Error
		if !errors.As(err, &e) || e.Privilege != vsphere.PrivilegeRead || e.OutcomeUnknown {
			t.Errorf("the error is %+v", e)
		}
		if !strings.Contains(err.Error(), "connect to network /DC0/network/DC0_DVPG0") || !strings.Contains(err.Error(), "grant it the role Read-only") {
			t.Errorf("the error is %q", err)
		}
		if n := r.proxy.Count("CloneVM_Task", agent); n != 0 {
			t.Errorf("%d clones were submitted", n)
		}
		r.sim.Show()
		req = r.request(1)
		req.Placement = place
		must(t, r.server.Clone(r.ctx, req))
		r.settled(1)
	}
}
