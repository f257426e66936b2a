package govmomi_test

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/vmware/govmomi/vim25/mo"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// witness records its notifications.
type witness struct {
	mu       sync.Mutex
	changes  []vsphere.Change
	stranger atomic.Bool
}

func (w *witness) Cares(g vsphere.GroupKey) bool { return g == group.Key() && !w.stranger.Load() }

func (w *witness) Changed(c vsphere.Change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.changes = append(w.changes, c)
}

func (w *witness) told() []vsphere.Change {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.changes)
}

// watched is a rig with a witness and the running VM of an ordinal. The user is called alice.
func watched(t *testing.T, mode govmomi.Mode, opts ...option) (*rig, *witness, vsphere.VM) {
	t.Helper()
	w := &witness{}
	r := newRig(t, mode, append(opts, resyncOften, func(o *sim.Options, c *govmomi.Config) {
		o.AdminUsername, c.Witness = "alice@vsphere.local", w
	})...).ensure()
	vm := r.clone(0)
	must(t, r.server.PowerOn(r.ctx, target(vm)))
	r.power(vsphere.PoweredOn)
	return r, w, vm
}

// power waits until the VM has this power state and no operation is in flight.
func (r *rig) power(want vsphere.PowerState) {
	r.t.Helper()
	r.until(string(want), func() bool {
		o := r.observe()
		vm, _ := find(o, 0)
		return vm.Power == want && len(o.InFlight) == 0
	})
}

func (r *rig) questions() int { return r.proxy.Count("QueryEvents", agent) }

const alice = `"alice@vsphere.local"`

func TestWhoeverChangesAVMBehindTheOperatorsBackIsNamed(t *testing.T) {
	both(t, func(t *testing.T, mode govmomi.Mode) {
		now := newClock()
		r, w, vm := watched(t, mode, func(_ *sim.Options, c *govmomi.Config) { c.Now = now.now })
		if n := r.questions(); n > 0 {
			t.Errorf("%d questions about what the operator did itself", n)
		}
		now.advanceBy(4 * time.Minute) // since the operator's last change of it
		const elsewhere = "/DC0/vm/vm-operator/elsewhere"
		must(t, r.person.CreateFolders(r.ctx, elsewhere))
		for i, change := range []struct {
			kind vsphere.ChangeKind
			do   func() error
		}{
			{vsphere.ChangeReconfigured, func() error { return r.person.AddDisk(r.ctx, vmPath+"vg-0", "", "") }},
			{vsphere.ChangePoweredOff, func() error { return r.person.PowerOff(r.ctx, vmPath+"vg-0") }},
			{vsphere.ChangeRenamed, func() error { return r.person.Rename(r.ctx, vmPath+"vg-0", "mine") }},
			{vsphere.ChangeMoved, func() error { return r.person.Move(r.ctx, vmPath+"mine", elsewhere) }},
			{vsphere.ChangeDeleted, func() error { return r.person.Destroy(r.ctx, elsewhere+"/mine") }},
		} {
			must(t, change.do())
			r.until("a witness", func() bool { return len(w.told()) > i })
			c := w.told()[i]
			if c.Kind != change.kind || c.User != alice || c.ID != group || c.VM != vm.Ref || c.Ordinal != 0 || time.Since(c.At).Abs() > time.Minute {
				t.Errorf("%s: reported %+v", change.kind, c)
			}
		}
		if n := r.questions(); n != len(w.told()) {
			t.Errorf("%d questions about %d changes", n, len(w.told()))
		}
	})
}

func TestNothingIsAskedAboutWhatTheOperatorDoesAndWhatOthersLookAfter(t *testing.T) {
	r, w, vm := watched(t, govmomi.Poll)
	must(t, r.server.PowerOff(r.ctx, target(vm)))
	r.power(vsphere.PoweredOff)
	vm, _ = find(r.observe(), 0)
	must(t, r.server.Mark(r.ctx, target(vm)))
	r.until("marked", func() bool { vm, _ := find(r.observe(), 0); return vm.Tombstone })
	vm = r.settled(0)
	must(t, r.server.Destroy(r.ctx, target(vm)))
	r.until("gone", func() bool { o := r.observe(); _, there := find(o, 0); return !there && len(o.InFlight) == 0 })

	// The configuration changes that a VM makes at boot are a consequence of the operator's power-on.
	vm = r.clone(0)
	must(t, r.server.PowerOn(r.ctx, target(vm)))
	r.power(vsphere.PoweredOn)
	before, _ := find(r.observe(), 0)
	must(t, r.person.Set(r.ctx, vmPath+"vg-0", map[string]string{"sched.swap.derivedName": "x"}))
	r.until("another configuration", func() bool { vm, _ := find(r.observe(), 0); return vm.ChangeVersion != before.ChangeVersion })

	w.stranger.Store(true)
	must(t, r.person.PowerOff(r.ctx, vmPath+"vg-0"))
	r.power(vsphere.PoweredOff)
	if n := r.questions(); n != 0 || len(w.told()) > 0 {
		t.Errorf("%d questions; reported %+v", n, w.told())
	}
}

func TestVCenterIsAskedTwiceAtMost(t *testing.T) {
	now, gaveUp := newClock(), atomic.Bool{}
	r, w, _ := watched(t, govmomi.Poll, func(_ *sim.Options, c *govmomi.Config) {
		c.Now, c.AskAgainAfter = now.now, 300*time.Millisecond
		c.Log = funcr.New(func(_, args string) {
			if strings.Contains(args, "No vCenter event names the user who changed a VM") {
				gaveUp.Store(true)
			}
		}, funcr.Options{})
	})
	now.advanceBy(time.Hour) // by this clock, all events are too old
	must(t, r.person.PowerOff(r.ctx, vmPath+"vg-0"))
	r.until("the search for the user is given up", gaveUp.Load)
	now.advanceBy(-time.Hour)
	must(t, r.person.PowerOn(r.ctx, vmPath+"vg-0"))
	r.power(vsphere.PoweredOn)
	must(t, r.person.PowerOff(r.ctx, vmPath+"vg-0"))
	r.until("a witness of the next change", func() bool { return len(w.told()) == 1 })
	if n := r.questions(); n != 3 {
		t.Errorf("%d questions, want 2 about the first change and 1 about the second", n)
	}
}

func TestWhoAskedTheGuestIsNamedAndAGuestByItselfIsNobody(t *testing.T) {
	r, w, _ := watched(t, govmomi.Poll)
	must(t, r.person.Set(r.ctx, vmPath+"vg-0", map[string]string{"SET.guest.toolsRunningStatus": "guestToolsRunning", sim.GuestShutdown: "10ms"}))
	must(t, r.person.ShutdownGuest(r.ctx, vmPath+"vg-0"))
	off := func() []vsphere.Change {
		return slices.DeleteFunc(w.told(), func(c vsphere.Change) bool { return c.Kind != vsphere.ChangePoweredOff })
	}
	r.until("a witness", func() bool { return len(off()) == 1 })
	if c := off()[0]; c.User != alice {
		t.Errorf("reported %+v", c)
	}
}

// vCenter can change the change version for snapshots, vMotion, power and guest writes: each caused
// a query and a log line.
func TestNobodyIsAskedAboutAChangeVersionThatMovedForNothing(t *testing.T) {
	now := newClock()
	r, w, _ := watched(t, govmomi.Watch, func(o *sim.Options, c *govmomi.Config) { c.Now, o.MoveChangeVersion = now.now, true })
	r.until("the version that it was powered on with", func() bool {
		seen, _ := find(r.observe(), 0)
		return seen.ChangeVersion == r.changeVersion("vg-0")
	})
	vm := r.settled(0)
	now.advanceBy(4 * time.Minute)
	asked := r.questions()
	must(t, r.person.Snapshot(r.ctx, vmPath+"vg-0"))
	r.until("the version has moved", func() bool {
		seen, _ := find(r.observe(), 0)
		return seen.ChangeVersion != "" && seen.ChangeVersion != vm.ChangeVersion
	})
	must(t, r.person.AddDisk(r.ctx, vmPath+"vg-0", "", ""))
	r.until("a witness of the disk", func() bool { return len(w.told()) == 1 })
	if n := r.questions() - asked; n != 1 {
		t.Errorf("%d questions about one change", n)
	}
}

// changeVersion is vCenter's value.
func (r *rig) changeVersion(name string) string {
	r.t.Helper()
	vm, err := newFinder(r).VirtualMachine(r.ctx, vmPath+name)
	must(r.t, err)
	var props mo.VirtualMachine
	must(r.t, vm.Properties(r.ctx, vm.Reference(), []string{"config.changeVersion"}, &props))
	return props.Config.ChangeVersion
}
