package govmomi_test

import (
	"sync"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// full is a rig whose vCenter runs one task at a time. It runs the clone of vg-1 until goOn is called; vg-0 exists.
func full(t *testing.T, mode govmomi.Mode, opts ...option) (r *rig, vm vsphere.VM, goOn func()) {
	t.Helper()
	released := make(chan struct{})
	goOn = sync.OnceFunc(func() { close(released) })
	r = newRig(t, mode, append(opts, func(o *sim.Options, _ *govmomi.Config) {
		o.RunningTasks = 1
		o.HoldClone = func(name string) (<-chan struct{}, bool) {
			if name != "vg-1" {
				return nil, false
			}
			return released, false
		}
	})...).ensure()
	t.Cleanup(goOn)
	vm = r.clone(0)
	must(t, r.server.Clone(r.ctx, r.request(1)))
	r.until("the clone runs", func() bool { n, err := r.person.Running(r.ctx); return err == nil && n == 1 })
	return r, vm, goOn
}

func TestATaskThatIsQueuedCountsAsOneThatRuns(t *testing.T) {
	runsInParallel(t)
	for _, drs := range []sim.DRS{sim.DRSOff, sim.DRSFullyAutomated} {
		t.Run("DRS "+string(drs), func(t *testing.T) {
			both(t, func(t *testing.T, mode govmomi.Mode) {
				r, vm, goOn := full(t, mode, withDRS(drs))
				must(t, r.server.PowerOn(r.ctx, target(vm)))
				if o := r.observe(); len(o.InFlight) != 2 || o.InFlight[0].Task == "" || r.server.Health().RunningTasks != 2 {
					t.Errorf("%d slots are taken, and in flight is %+v", r.server.Health().RunningTasks, o.InFlight)
				}
				wantKind(t, r.server.PowerOn(r.ctx, target(vm)), vsphere.KindBusy)
				goOn()
				r.isOn(0)
				r.settled(1)
			})
		})
	}
}

func TestAVMThatIsBusyWithTheTaskOfAPersonIsTriedAgain(t *testing.T) {
	runsInParallel(t)
	for _, drs := range []sim.DRS{sim.DRSOff, sim.DRSFullyAutomated} {
		t.Run("DRS "+string(drs), func(t *testing.T) {
			r, vm, goOn := full(t, govmomi.Watch, withDRS(drs), func(o *sim.Options, _ *govmomi.Config) { o.RefuseBusy = true })
			theirs, err := newFinder(r).VirtualMachine(r.ctx, vmPath+"vg-0")
			must(t, err)
			task, err := theirs.Reconfigure(r.ctx, types.VirtualMachineConfigSpec{Annotation: "x"})
			must(t, err)
			if err := r.server.PowerOn(r.ctx, target(vm)); drs == sim.DRSOff {
				wantKind(t, err, vsphere.KindBusy)
				goOn()
			} else {
				must(t, err) // the datacenter's task reports it, once it runs
				goOn()
				r.until("it is refused or done", func() bool { o := r.observe(); return len(o.Failures) == 1 || len(o.InFlight) == 0 })
			}
			must(t, task.Wait(r.ctx))
			r.until("the VM is on", func() bool {
				now, ok := find(r.observe(), 0)
				if ok && now.Power != vsphere.PoweredOn {
					_ = r.server.PowerOn(r.ctx, target(now)) // busy for a moment
				}
				return ok && now.Power == vsphere.PoweredOn
			})
		})
	}
}
