package govmomi_test

import (
	"strings"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/operations"
)

// vCenter showed a VM without its stamp while its clone still ran. Another replica considered the name taken and cloned
// the next ordinal: two VMs for one.
func TestAVMThatIsShownBeforeItsCloneHasEndedIsWaitedFor(t *testing.T) {
	both(t, func(t *testing.T, mode govmomi.Mode) {
		r, clock, goOn := hanging(t, mode, false, "hangs")
		r.foreign(linux, "hangs") // represents the clone of vg-0
		_, err := r.person.CreateVM(r.ctx, strings.TrimSuffix(vmPath, "/"), "vg-0")
		must(t, err)
		taken := func(ordinal int32) error {
			t.Helper()
			before := len(r.observe().Failures)
			req := r.request(ordinal)
			req.Name = "vg-0"
			must(t, r.server.Clone(r.ctx, req))
			r.until("the clone has failed", func() bool { return len(r.observe().Failures) > before })
			for _, f := range r.observe().Failures {
				if f.Ordinal == ordinal {
					return f.Err
				}
			}
			t.Fatalf("failures are %+v", r.observe().Failures)
			return nil
		}
		r.until("the VM is shown", func() bool { return len(r.observe().HalfMade) == 1 })
		for ordinal := range int32(2) {
			if err := taken(ordinal); vsphere.KindOf(err) != vsphere.KindBusy || !strings.Contains(err.Error(), "still runs") {
				t.Errorf("while the clone runs: %v", err)
			}
			clock.advanceBy(2*operations.Patience + time.Minute) // however long it takes
		}
		goOn()
		r.until("the clone has ended", func() bool { n, err := r.person.Running(r.ctx); must(t, err); return n == 0 })
		wantKind(t, taken(2), vsphere.KindNameTaken)
	})
}

func TestNobodyWaitsForClonesThatBeganLaterThanAForeignVM(t *testing.T) {
	r, _, _ := hanging(t, govmomi.Watch, false, "hangs")
	_, err := r.person.CreateVM(r.ctx, strings.TrimSuffix(vmPath, "/"), "vg-0")
	must(t, err)
	r.until("the VM is shown", func() bool { return len(r.observe().VMs) == 1 })
	made := time.Now()
	r.until("vCenter's clock has moved on by more than it rounds", func() bool { return time.Since(made) > 1100*time.Millisecond })
	r.foreign(linux, "hangs")
	must(t, r.server.Clone(r.ctx, r.request(0)))
	r.until("the clone has failed", func() bool { return len(r.observe().Failures) == 1 })
	wantKind(t, r.observe().Failures[0].Err, vsphere.KindNameTaken)
	if o := r.observe(); len(o.HalfMade) != 0 {
		t.Errorf("half-made are %v", o.HalfMade)
	}
}
