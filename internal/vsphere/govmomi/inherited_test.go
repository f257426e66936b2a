package govmomi_test

import (
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/operations"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

const linux, windows, ordinary = "vm-operator-template", "windows", "db-prod-0"

// hanging is a rig on which the next clone of each of these names hangs until goOn is called. Its
// clock can be advanced.
func hanging(t *testing.T, mode govmomi.Mode, takesName bool, names ...string) (r *rig, c *clock, goOn func()) {
	t.Helper()
	c = newClock()
	released := make(chan struct{})
	var left sync.Map
	for _, name := range names {
		left.Store(name, true)
	}
	goOn = sync.OnceFunc(func() { close(released) })
	r = newRig(t, mode, func(o *sim.Options, cfg *govmomi.Config) {
		o.Templates = []string{linux, windows}
		o.HoldClone = func(name string) (<-chan struct{}, bool) {
			if _, ok := left.LoadAndDelete(name); ok {
				return released, takesName
			}
			return nil, false
		}
		cfg.Now, cfg.Sightings = c.now, new(operations.Sightings)
	})
	t.Cleanup(goOn)
	r.templates = []string{linux}
	return r.ensure(), c, goOn
}

// restart ends the server and starts another one.
func (r *rig) restart() {
	r.t.Helper()
	r.stop()
	r.start()
	r.connected()
}

// foreign starts a clone of another client, and returns the reference of its task.
func (r *rig) foreign(template, name string) string {
	r.t.Helper()
	task, err := r.person.StartClone(r.ctx, path.Join("/DC0/vm", template), "/DC0/vm", name, nil)
	must(r.t, err)
	return task.Reference().Value
}

// of observes the group with VMs cloned from a template.
func (r *rig) of(template string) vsphere.Observation {
	return r.server.Observe(vsphere.Query{ID: group, Folder: r.folder.Ref, Templates: []string{template}})
}

func TestACloneOfAnotherTemplateHoldsNobody(t *testing.T) {
	both(t, func(t *testing.T, mode govmomi.Mode) {
		r, _, goOn := hanging(t, mode, false, "hangs", "copy")
		copying := r.foreign(ordinary, "copy")
		task := r.foreign(windows, "hangs")
		r.restart()
		if o := r.of(linux); !o.Complete {
			t.Errorf("a group of another template waits: %s", o.Incomplete)
		}
		o := r.of(windows)
		for _, word := range []string{task, "/DC0/vm/windows", "cancel", "started 2"} {
			if o.Complete || !strings.Contains(o.Incomplete, word) {
				t.Errorf("a group of the template is complete: %v; it does not say %q: %s", o.Complete, word, o.Incomplete)
			}
		}
		if strings.Contains(o.Incomplete, copying) {
			t.Errorf("it waits for the copy of what is no template: %s", o.Incomplete)
		}
		if o := r.of("renamed"); o.Complete {
			t.Error("a group does not wait although its template cannot be found: it may be the one")
		}
		if o := r.server.Observe(vsphere.Query{ID: group, Templates: []string{windows}, Created: time.Now().Add(time.Hour)}); !o.Complete {
			t.Errorf("a group waits for a clone that was there before it: %s", o.Incomplete)
		}
		r.clone(0)
		told := r.told.count(group.Key())
		r.of(windows)
		goOn()
		r.until("no group waits any more", func() bool { return r.of(windows).Complete })
		r.toldAfter(told)
	})
}

func TestAForeignCloneThatHangsHoldsTheGroupsOfItsTemplateForTenMinutes(t *testing.T) {
	both(t, func(t *testing.T, mode govmomi.Mode) {
		r, clock, goOn := hanging(t, mode, false, "hangs")
		r.clone(0)
		r.foreign(linux, "hangs")
		r.restart()
		clock.advanceBy(operations.Patience - time.Minute)
		if o := r.of(linux); o.Complete {
			t.Fatal("complete although a clone of the template runs")
		}
		// Another login, as after a change of the credentials, does not restart the wait.
		r.restart()
		if o := r.of(linux); o.Complete {
			t.Fatal("complete although a clone of the template runs")
		}
		told := r.told.count(group.Key())
		clock.advanceBy(time.Minute)
		r.until("no group waits any more", func() bool { return r.of(linux).Complete })
		r.toldAfter(told)
		if o := r.of(linux); len(o.VMs) != 1 {
			t.Fatalf("after ten minutes: %+v", o)
		}
		r.clone(1)
		goOn()
		r.until("the clone has ended", func() bool {
			vms, err := r.person.VMs(r.ctx)
			must(t, err)
			_, ok := vms["/DC0/vm/hangs"]
			return ok
		})
		// The end of the clone holds the group until the next listing: its VM could be the group's.
		r.until("the group has its VMs", func() bool {
			o := r.of(linux)
			return o.Complete && len(o.VMs) == 2
		})
	})
}

func TestAnOwnCloneThatHungOverARestartIsMadeOnce(t *testing.T) {
	runsInParallel(t)
	for name, takesName := range map[string]bool{"vCenter holds its name": true, "the name is free until it ends": false} {
		t.Run(name, func(t *testing.T) {
			r, clock, goOn := hanging(t, govmomi.Poll, takesName, "vg-0")
			request := r.request(0)
			must(t, r.server.Clone(r.ctx, request))
			r.restart()
			if o := r.of(linux); o.Complete {
				t.Fatal("complete although the clone runs")
			}
			clock.advanceBy(operations.Patience)
			r.until("no group waits any more", func() bool { return r.of(linux).Complete })
			must(t, r.server.Clone(r.ctx, request)) // as recorded in status
			if takesName {
				r.until("the second clone is refused", func() bool { return len(r.of(linux).Failures) == 1 })
				f := r.of(linux).Failures[0]
				if vsphere.KindOf(f.Err) != vsphere.KindBusy || !strings.Contains(f.Err.Error(), "perhaps task-") {
					t.Errorf("the ordinal would be passed over, and a second VM be made: %v", f.Err)
				}
				goOn()
			}
			vm := r.settled(0)
			goOn()
			r.until("no clone runs", func() bool {
				tasks, err := r.person.Running(r.ctx)
				must(t, err)
				return tasks == 0
			})
			r.connected()
			if o := r.of(linux); len(o.VMs) != 1 || o.VMs[0].Ref != vm.Ref || !strings.EqualFold(vm.InstanceUUID, request.UUID) {
				t.Errorf("VMs: %+v, want the one, with UUID %s", o.VMs, request.UUID)
			}
		})
	}
}

// Another replica sent the clone and died after this one had searched for tasks; or the clone
// belongs to another client.
func TestANameThatIsTakenByWhatNobodySeesIsWaitedForWhileVCenterShowsItsClone(t *testing.T) {
	r, clock, goOn := hanging(t, govmomi.Poll, true, "vg-0")
	task, err := r.person.StartClone(r.ctx, path.Join("/DC0/vm", linux), r.folder.Path, "vg-0", nil)
	must(t, err)
	try := func() error {
		t.Helper()
		clock.advanceBy(time.Minute) // longer than any pause after a failure
		must(t, r.server.Clone(r.ctx, r.request(0)))
		var failed error
		r.until("the clone is refused", func() bool {
			if o := r.of(linux); len(o.InFlight) == 0 && len(o.Failures) == 1 {
				failed = o.Failures[0].Err
			}
			return failed != nil
		})
		return failed
	}
	for range 2 {
		if err := try(); vsphere.KindOf(err) != vsphere.KindBusy || !strings.Contains(err.Error(), "not in the inventory yet") {
			t.Fatalf("the ordinal would be passed over, and a second VM be made: %v", err)
		}
	}
	clock.advanceBy(operations.Patience)
	if err := try(); vsphere.KindOf(err) != vsphere.KindBusy || !strings.Contains(err.Error(), task.Reference().Value) {
		t.Errorf("vCenter shows that the clone runs, and its name is given up: %v", err)
	}
	goOn()
	must(t, task.Wait(r.ctx))
	r.until("the VM is in the inventory", func() bool {
		return slices.ContainsFunc(r.of(linux).VMs, func(vm vsphere.VM) bool { return vm.Name == "vg-0" })
	})
	if err := try(); vsphere.KindOf(err) != vsphere.KindNameTaken {
		t.Errorf("a name that a VM in the inventory has: %v", err)
	}
}

func TestACloneIsCanceledWhereVCenterMayAndLeavesNothing(t *testing.T) {
	both(t, func(t *testing.T, mode govmomi.Mode) {
		r, _, _ := hanging(t, mode, true, "vg-0")
		wantKind(t, r.server.CancelClone(r.ctx, group.Key(), 0), vsphere.KindNotFound)
		must(t, r.server.Clone(r.ctx, r.request(0)))
		var agreed atomic.Bool
		r.proxy.Hook(func(c sim.Call) faultproxy.Fault {
			if !agreed.Load() && c.Method == "CancelTask" {
				return sim.SOAPFault(&types.NotSupported{})
			}
			return faultproxy.Fault{}
		})
		wantKind(t, r.server.CancelClone(r.ctx, group.Key(), 0), vsphere.KindSpec)
		if o := r.of(linux); len(o.InFlight) != 1 || o.InFlight[0].CanceledAt.IsZero() || o.InFlight[0].CancelErr == nil {
			t.Errorf("in flight: %+v", o.InFlight)
		}
		agreed.Store(true)
		must(t, r.server.CancelClone(r.ctx, group.Key(), 0))
		r.until("the clone has ended", func() bool { return len(r.of(linux).InFlight) == 0 })
		if o := r.of(linux); len(o.VMs) != 0 || len(o.Failures) != 1 {
			t.Errorf("it left %+v, and failed %+v", o.VMs, o.Failures)
		}
		r.clone(1)
	})
}

func TestALostReplyHoldsNoSlotForAForeignClone(t *testing.T) {
	r, clock, goOn := hanging(t, govmomi.Poll, false, "hangs")
	r.foreign(linux, "hangs")
	r.proxy.Hook(func(c sim.Call) faultproxy.Fault {
		if c.UserAgent == agent && c.Method == "CloneVM_Task" {
			return faultproxy.Fault{Act: faultproxy.CutBefore}
		}
		return faultproxy.Fault{}
	})
	must(t, r.server.Clone(r.ctx, r.request(0)))
	r.until("its slot is given back", func() bool { return r.server.Health().RunningTasks == 0 })
	if o := r.of(linux); len(o.InFlight) != 1 {
		t.Errorf("in flight: %+v; want one, since the foreign clone might be it", o.InFlight)
	}
	clock.advanceBy(operations.Patience)
	r.until("no group waits any more", func() bool { return len(r.of(linux).InFlight) == 0 })
	goOn()
}
