package govmomi_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/operations"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// underWay is a rig on which the first clone of vg-0 takes this course, and does not end before goOn is called. Its
// clock can be advanced.
func underWay(t *testing.T, mode govmomi.Mode, course sim.Course) (r *rig, c *clock, goOn func()) {
	t.Helper()
	c = newClock()
	released := make(chan struct{})
	goOn = sync.OnceFunc(func() { close(released) })
	course.Until = released
	var first sync.Once
	r = newRig(t, mode, func(o *sim.Options, cfg *govmomi.Config) {
		o.Courses = func(name string) (goes sim.Course) {
			if name == "vg-0" {
				first.Do(func() { goes = course })
			}
			return goes
		}
		cfg.Now, cfg.Sightings = c.now, new(operations.Sightings)
	})
	t.Cleanup(goOn)
	r.templates = []string{linux}
	return r.ensure(), c, goOn
}

// eachMaking runs a test in both modes with all states of a VM that vCenter can show during its clone.
func eachMaking(t *testing.T, f func(t *testing.T, mode govmomi.Mode, shows sim.Making)) {
	t.Helper()
	runsInParallel(t)
	both(t, func(t *testing.T, mode govmomi.Mode) {
		for name, shows := range map[string]sim.Making{"without config": sim.WithoutConfig, "without extraConfig": sim.WithoutExtraConfig} {
			t.Run(name, func(t *testing.T) { f(t, mode, shows) })
		}
	})
}

// marked puts a VM into the group's folder, and waits until the operator sees it and nothing waits for it. By then,
// the operator has seen all earlier changes.
func (r *rig) marked(name string) {
	r.t.Helper()
	_, err := r.person.CreateVM(r.ctx, strings.TrimSuffix(vmPath, "/"), name)
	must(r.t, err)
	r.until(name+" is seen", func() bool {
		for _, vm := range r.observe().VMs {
			if vm.Name == name {
				return true
			}
		}
		return false
	})
}

// others are the names of the VMs that are neither stamped nor half-made.
func others(o vsphere.Observation) (names []string) {
	for _, vm := range o.VMs {
		if vm.Stamp == nil {
			names = append(names, vm.Name)
		}
	}
	return names
}

func TestAVMOfARunningCloneIsNeitherAStrangersNorUnreadable(t *testing.T) {
	eachMaking(t, func(t *testing.T, mode govmomi.Mode, shows sim.Making) {
		r, _, goOn := underWay(t, mode, sim.Course{Shows: shows})
		must(t, r.server.Clone(r.ctx, r.request(0)))
		r.until("vCenter shows the VM", func() bool {
			vms, err := r.person.VMs(r.ctx)
			must(t, err)
			_, there := vms[vmPath+"vg-0"]
			return there
		})
		r.marked("marker")
		o := r.observe()
		if !o.Complete || len(o.VMs) != 1 || len(o.Unread)+len(o.HalfMade) != 0 || len(o.InFlight) != 1 {
			t.Errorf("complete %v (%s), VMs %v, unread %v, half-made %v, in flight %v", o.Complete, o.Incomplete, o.VMs, o.Unread, o.HalfMade, o.InFlight)
		}
		wantKind(t, r.server.Clone(r.ctx, r.request(0)), vsphere.KindBusy)
		goOn()
		vm := r.settled(0)
		if got := others(r.observe()); len(got) != 1 {
			t.Errorf("VMs without a stamp are %v", got)
		}
		must(t, r.server.PowerOn(r.ctx, target(vm)))
		if n := r.proxy.Count("CloneVM_Task", agent); n != 1 {
			t.Errorf("%d clones", n)
		}
	})
}

// TestAnotherReplicasCloneIsWaitedForHoweverLongItTakes: vCenter showed the VM before its stamp, and the replica that
// took over the group cloned the next ordinal.
func TestAnotherReplicasCloneIsWaitedForHoweverLongItTakes(t *testing.T) {
	eachMaking(t, func(t *testing.T, mode govmomi.Mode, shows sim.Making) {
		r, clock, goOn := underWay(t, mode, sim.Course{Shows: shows})
		must(t, r.server.Clone(r.ctx, r.request(0)))
		r.until("the clone runs", func() bool { n, err := r.person.Running(r.ctx); must(t, err); return n == 1 })
		r.restart()
		waits := func() {
			t.Helper()
			r.until("the VM is taken for half-made", func() bool {
				o := r.observe()
				return len(o.HalfMade) == 1 && o.HalfMade[0].Name == "vg-0" && o.HalfMade[0].Task != "" && !o.HalfMade[0].Since.IsZero()
			})
			if o := r.observe(); len(others(o))+len(o.Unread) != 0 || r.server.Health().VMs != 0 || !o.Undetermined() {
				t.Errorf("VMs %v, unread %v, %d owned", o.VMs, o.Unread, r.server.Health().VMs)
			}
		}
		waits()
		clock.advanceBy(operations.Patience + time.Minute)
		r.until("no group waits for clones whose VM is not seen", func() bool { return r.observe().Complete })
		clock.advanceBy(3 * operations.Patience)
		waits()
		told := r.told.count(group.Key())
		goOn()
		r.settled(0)
		r.toldAfter(told)
		if o := r.observe(); len(o.HalfMade)+len(others(o)) != 0 {
			t.Errorf("half-made are %v, and without a stamp %v", o.HalfMade, others(o))
		}
	})
}

// TestACloneThatBeganAfterThisProcessConnectedIsWaitedFor: its replica then died, and its task was not reported.
func TestACloneThatBeganAfterThisProcessConnectedIsWaitedFor(t *testing.T) {
	eachMaking(t, func(t *testing.T, mode govmomi.Mode, shows sim.Making) {
		r, _, goOn := underWay(t, mode, sim.Course{Shows: shows})
		r.observe()
		stamp, err := inventory.EncodeStamp(r.request(0).Stamp)
		must(t, err)
		extra := map[string]string{}
		for _, kv := range stamp {
			extra[kv.Key] = kv.Value
		}
		task, err := r.person.StartClone(r.ctx, "/DC0/vm/"+linux, strings.TrimSuffix(vmPath, "/"), "vg-0", extra)
		must(t, err)
		r.until("the VM is taken for half-made", func() bool {
			o := r.observe()
			return o.Complete && len(o.HalfMade) == 1 && o.HalfMade[0].Task == task.Reference().Value
		})
		if o := r.of(windows); len(o.HalfMade) != 1 {
			t.Errorf("a group whose template is not known waits for %v", o.HalfMade)
		}
		goOn()
		r.settled(0)
	})
}

func TestAVMThatIsOlderThanAllClonesIsAStrangers(t *testing.T) {
	both(t, func(t *testing.T, mode govmomi.Mode) {
		r, _, goOn := underWay(t, mode, sim.Course{})
		r.marked("older")
		made := time.Now()
		r.until("vCenter's clock has moved on by more than it rounds", func() bool { return time.Since(made) > 1100*time.Millisecond })
		_, err := r.person.StartClone(r.ctx, "/DC0/vm/"+linux, strings.TrimSuffix(vmPath, "/"), "vg-0", nil)
		must(t, err)
		r.until("the VM of the clone is half-made", func() bool { return len(r.observe().HalfMade) == 1 })
		r.restart()
		r.until("only that of the clone is half-made", func() bool {
			o := r.observe()
			return len(o.HalfMade) == 1 && len(others(o)) == 1 && others(o)[0] == "older"
		})
		goOn()
		r.until("both are strangers'", func() bool { o := r.observe(); return o.Complete && len(o.HalfMade) == 0 && len(others(o)) == 2 })
	})
}

func TestAVMThatAFailedCloneHasLeftIsToldOf(t *testing.T) {
	eachMaking(t, func(t *testing.T, mode govmomi.Mode, shows sim.Making) {
		left := make(chan struct{})
		r, _, goOn := underWay(t, mode, sim.Course{Shows: shows, Fails: true, Leaves: left})
		must(t, r.server.Clone(r.ctx, r.request(0)))
		goOn()
		r.until("the clone has failed", func() bool { return len(r.observe().Failures) == 1 })
		told := func(o vsphere.Observation) bool {
			if shows == sim.WithoutConfig {
				return len(o.Unread) == 1 && o.Unread[0].Name == "vg-0" && len(o.VMs) == 0
			}
			return len(others(o)) == 1 && others(o)[0] == "vg-0" && len(o.Unread) == 0
		}
		r.until("the VM is reported", func() bool { o := r.observe(); return o.Complete && len(o.HalfMade) == 0 && told(o) })
		if n := r.server.Health().VMs; n != 0 {
			t.Errorf("%d VMs count as the installation's", n)
		}
		close(left)
		r.until("it is deleted", func() bool { o := r.observe(); return o.Complete && len(o.VMs)+len(o.Unread)+len(o.HalfMade) == 0 })
		r.clone(0)
		if n := r.proxy.Count("Destroy_Task", agent); n != 0 {
			t.Errorf("%d VMs were destroyed", n)
		}
	})
}

// TestAGroupThatIsGoneIsChargedWhileClonesRunThatMayBeOfIt: a clone keeps its resources regardless of its duration,
// and a later one does not belong to the group.
func TestAGroupThatIsGoneIsChargedWhileClonesRunThatMayBeOfIt(t *testing.T) {
	r, clock, goOn := hanging(t, govmomi.Watch, false, "hangs", "later")
	r.connected()
	r.until("no clone runs", func() bool {
		clock.advanceBy(time.Second)
		running, known := r.server.Clones("m/none")
		return known && len(running) == 0
	})
	task := r.foreign(linux, "hangs")
	const gone = "m/gone"
	r.until("the clone is reported", func() bool {
		running, known := r.server.Clones(gone)
		return !known && len(running) == 1 && running[0] == task
	})
	r.foreign(linux, "later")
	r.until("vCenter's tasks are read again", func() bool { running, _ := r.server.Clones("m/gone-later"); return len(running) == 2 })
	for range 4 {
		clock.advanceBy(operations.Patience - time.Minute)
		if running, known := r.server.Clones(gone); known || len(running) != 1 || running[0] != task {
			t.Errorf("clones are %v, known: %v", running, known)
		}
	}
	goOn()
	r.until("nothing is waited for", func() bool {
		clock.advanceBy(time.Second)
		running, known := r.server.Clones(gone)
		return known && len(running) == 0
	})
}
