package govmomi_test

import (
	"net/url"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/budget"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// TestAVCenterThatWasRestoredEmptyIsUsedAgainOnceThatIsAccepted: a restored vCenter reuses references for other
// objects.
func TestAVCenterThatWasRestoredEmptyIsUsedAgainOnceThatIsAccepted(t *testing.T) {
	both(t, func(t *testing.T, mode govmomi.Mode) {
		r := newRig(t, mode, func(_ *sim.Options, c *govmomi.Config) { c.Limits = budget.Limits{Tasks: 4} }).ensure()
		known := []vsphere.Ref{r.clone(0).Ref, r.clone(1).Ref}
		u, err := url.Parse(r.sim.URL)
		must(t, err)
		r.sim.Close()
		var restored *sim.Simulator
		// Its port is free in between: another connection can use it for a moment.
		r.until("the simulator is back at its address", func() bool {
			restored, err = sim.Start(sim.Options{Listen: u.Host})
			return err == nil
		})
		r.sim = restored
		t.Cleanup(r.sim.Close)
		r.until("alarm", func() bool { h := r.server.Health(); return h.SuddenlyEmpty })
		r.observe(known...)
		r.server.AcceptEmpty()
		r.until("the VMs and the folder are deleted", func() bool {
			o := r.observe(known...)
			return o.Complete && len(o.Gone) == 2 && o.FolderGone
		})
		r.folder, err = r.server.EnsureFolder(r.ctx, vsphere.FolderPath{Member: "m", Namespace: "ns", Leaf: "vg.12345678"})
		must(t, err)
		// The simulator answers before its template is one, and vCenter was read as soon as it answered.
		r.until("the template is known", func() bool { _, err := r.server.Template("vm-operator-template"); return err == nil })
		r.clone(0)
	})
}
