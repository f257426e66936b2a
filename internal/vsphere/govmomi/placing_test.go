package govmomi_test

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

const (
	byVM         = "PowerOnVM_Task"
	byDatacenter = "PowerOnMultiVM_Task"
)

func withDRS(mode sim.DRS) option { return func(o *sim.Options, _ *govmomi.Config) { o.DRS = mode } }

// sent is the operator's number of power-ons by each method.
func (r *rig) sent() (onVM, onDatacenter int) {
	return r.proxy.Count(byVM, agent), r.proxy.Count(byDatacenter, agent)
}

// isOn waits until the VM of an ordinal is on, no operation is in flight and no slot is taken.
func (r *rig) isOn(ordinal int32) {
	r.t.Helper()
	r.until("the VM is on, and its slot free", func() bool {
		o := r.observe()
		vm, ok := find(o, ordinal)
		return ok && vm.Power == vsphere.PoweredOn && len(o.InFlight) == 0 && r.server.Health().RunningTasks == 0
	})
}

// hostOf is the host of an ordinal's VM.
func (r *rig) hostOf(name string) string {
	r.t.Helper()
	vm, err := newFinder(r).VirtualMachine(r.ctx, vmPath+name)
	must(r.t, err)
	host, err := vm.HostSystem(r.ctx)
	must(r.t, err)
	return host.Reference().Value
}

// Three VMs of a group ran on the template's host, while the other hosts were idle.
func TestVMsAreSpreadOverTheHostsOfAClusterWithDRS(t *testing.T) {
	runsInParallel(t)
	for _, c := range []struct {
		mode                sim.DRS
		hosts               int
		onVM, throughCenter int
	}{
		{sim.DRSOff, 1, 3, 0}, {sim.DRSManual, 3, 0, 3}, {sim.DRSPartiallyAutomated, 3, 0, 3}, {sim.DRSFullyAutomated, 3, 0, 3},
	} {
		t.Run("DRS "+string(c.mode), func(t *testing.T) {
			both(t, func(t *testing.T, mode govmomi.Mode) {
				r := newRig(t, mode, withDRS(c.mode), func(o *sim.Options, _ *govmomi.Config) { o.Hosts = 3 }).ensure()
				hosts := map[string]bool{}
				vms := make([]vsphere.VM, 0, 3)
				for i := range int32(3) {
					vms = append(vms, r.clone(i))
				}
				for _, vm := range vms {
					must(t, r.server.PowerOn(r.ctx, target(vm)))
				}
				for i, vm := range vms {
					r.isOn(int32(i))
					hosts[r.hostOf(vm.Name)] = true
				}
				onVM, onDatacenter := r.sent()
				if len(hosts) != c.hosts || onVM != c.onVM || onDatacenter != c.throughCenter {
					t.Errorf("%d hosts by %d calls to VMs and %d to the datacenter; want %d, %d, %d", len(hosts), onVM, onDatacenter, c.hosts, c.onVM, c.throughCenter)
				}
			})
		})
	}
}

func TestAVMOutsideOfAClusterWithDRSIsPoweredOnItself(t *testing.T) {
	var pool string
	r := edited(t, func(r *rig) (err error) {
		pool, err = r.person.AddCluster(r.ctx, "C2", "far", t.TempDir())
		return err
	}, withDRS(sim.DRSFullyAutomated), func(_ *sim.Options, cfg *govmomi.Config) { cfg.ResourcePool = "/DC0/host/DC0_C0/Resources" })
	req := r.request(0)
	var err error
	req.Placement, err = r.server.Placement(vsphere.Placement{ResourcePool: pool, Datastore: "far"})
	must(t, err)
	must(t, r.server.Clone(r.ctx, req))
	must(t, r.server.PowerOn(r.ctx, target(r.settled(0))))
	r.isOn(0)
	if onVM, onDatacenter := r.sent(); onVM != 1 || onDatacenter != 0 {
		t.Errorf("%d calls to the VM, %d to the datacenter", onVM, onDatacenter)
	}
}

// Earlier reads determine the right method.
func TestAPowerOnWithDRSTakesOneCall(t *testing.T) {
	const powerOn = "power-on"
	r := newRig(t, govmomi.Watch, withDRS(sim.DRSFullyAutomated)).ensure()
	vm := r.clone(0)
	var mu sync.Mutex
	var calls []string
	r.proxy.Hook(func(c sim.Call) faultproxy.Fault {
		mu.Lock()
		defer mu.Unlock()
		if c.Operation == powerOn {
			calls = append(calls, c.Method)
		}
		return faultproxy.Fault{}
	})
	must(t, r.server.PowerOn(vsphere.WithOperation(r.ctx, powerOn), target(vm)))
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(calls, []string{byDatacenter}) {
		t.Errorf("the calls were %v", calls)
	}
}

func TestWhatAdmissionControlRefusesIsAskedAgainLater(t *testing.T) {
	both(t, func(t *testing.T, mode govmomi.Mode) {
		for _, drs := range []sim.DRS{sim.DRSOff, sim.DRSFullyAutomated} {
			r := newRig(t, mode, withDRS(drs)).ensure()
			must(t, r.sim.Admit("DC0_C0", 0))
			vm := r.clone(0)
			must(t, r.server.PowerOn(r.ctx, target(vm)))
			r.until("it has failed and its slot is free", func() bool {
				o := r.observe()
				return len(o.Failures) == 1 && len(o.InFlight) == 0 && r.server.Health().RunningTasks == 0
			})
			f := r.observe().Failures[0]
			wantKind(t, f.Err, vsphere.KindCapacity)
			if !strings.Contains(f.Err.Error(), "admission control of vSphere HA keeps the rest of the cluster") || f.Kind != vsphere.OpPowerOn {
				t.Errorf("the failure is %v of %s", f.Err, f.Kind)
			}
			must(t, r.sim.Admit("DC0_C0", 1))
			must(t, r.server.PowerOn(r.ctx, target(vm)))
			r.isOn(0)
			if f := r.observe().Failures; len(f) != 0 {
				t.Errorf("failures are still %+v", f)
			}
		}
	})
}

// The task that placed the VM has ended; the one that powers it on hangs.
func TestAPowerOnThatDRSPlacedAndThatHangsIsShownAndOvertaken(t *testing.T) {
	both(t, func(t *testing.T, mode govmomi.Mode) {
		c := newClock()
		r := newRig(t, mode, withDRS(sim.DRSFullyAutomated), func(_ *sim.Options, cfg *govmomi.Config) { cfg.Now = c.now }).ensure()
		vm := r.clone(0)
		goOn := r.sim.HoldPowerOn(vm.Name, "")
		t.Cleanup(goOn)
		must(t, r.server.PowerOn(r.ctx, target(vm)))
		var task string
		r.until("the task of the VM is shown", func() bool {
			o := r.observe()
			if len(o.InFlight) != 1 {
				return false
			}
			task = o.InFlight[0].Task
			return r.entityOf(task) == vm.Ref.Value
		})
		if n := r.server.Health().RunningTasks; n != 1 {
			t.Errorf("%d slots are taken, want one", n)
		}
		wantKind(t, r.server.Mark(r.ctx, target(vm)), vsphere.KindBusy)
		if r.proxy.Count("ReconfigVM_Task", agent) > 0 {
			t.Error("the end of the VM does not wait for a power-on that has just begun")
		}
		c.advanceBy(vsphere.HangsAfter)
		wantKind(t, r.server.Mark(r.ctx, target(vm)), vsphere.KindBusy)
		if r.proxy.Count("ReconfigVM_Task", agent) == 0 {
			t.Error("the end of the VM waits for the power-on")
		}
		if n := r.server.Health().RunningTasks; n != 0 {
			t.Errorf("%d slots are taken by an obsolete task", n)
		}
		_, err := methods.CancelTask(r.ctx, r.person.Client(), &types.CancelTask{This: types.ManagedObjectReference{Type: "Task", Value: task}})
		must(t, err)
		r.until("the VM is marked", func() bool {
			if vm, _ = find(r.observe(), 0); !vm.Tombstone {
				_ = r.server.Mark(r.ctx, target(vm)) // busy for a moment
			}
			return vm.Tombstone
		})
	})
}

// entityOf is the object of a task.
func (r *rig) entityOf(task string) string {
	if task == "" {
		return ""
	}
	res, err := methods.RetrievePropertiesEx(r.ctx, r.person.Client(), &types.RetrievePropertiesEx{
		This: r.person.Client().ServiceContent.PropertyCollector, SpecSet: []types.PropertyFilterSpec{{
			PropSet:   []types.PropertySpec{{Type: "Task", PathSet: []string{"info.entity"}}},
			ObjectSet: []types.ObjectSpec{{Obj: types.ManagedObjectReference{Type: "Task", Value: task}}},
		}},
	})
	must(r.t, err)
	entity, _ := res.Returnval.Objects[0].PropSet[0].Val.(types.ManagedObjectReference)
	return entity.Value
}

func TestALostReplyOfAPlacingIsNotSentAgainWhileItsTasksRun(t *testing.T) {
	runsInParallel(t)
	for story, named := range map[string]bool{"vCenter names the task of the VM": true, "it does not": false} {
		t.Run(story, func(t *testing.T) {
			both(t, func(t *testing.T, mode govmomi.Mode) {
				placing := make(chan struct{})
				place := sync.OnceFunc(func() { close(placing) })
				r := newRig(t, mode, withDRS(sim.DRSFullyAutomated), func(o *sim.Options, _ *govmomi.Config) {
					o.NoPlacedTasks = !named
					o.HoldPlacing = func() <-chan struct{} { return placing }
				}).ensure()
				t.Cleanup(place)
				vm := r.clone(0)
				power := r.sim.HoldPowerOn(vm.Name, "")
				t.Cleanup(power)
				var lost atomic.Bool
				r.proxy.Hook(func(c sim.Call) faultproxy.Fault {
					if c.UserAgent == agent && c.Method == byDatacenter && lost.CompareAndSwap(false, true) {
						return faultproxy.Fault{Act: faultproxy.CutAfter}
					}
					return faultproxy.Fault{}
				})
				must(t, r.server.PowerOn(r.ctx, target(vm)))
				shows := func(what, entity string) {
					t.Helper()
					r.until(what, func() bool {
						o := r.observe()
						return len(o.InFlight) == 1 && o.InFlight[0].OutcomeUnknown && r.entityOf(o.InFlight[0].Task) == entity
					})
				}
				dc, err := newFinder(r).Datacenter(r.ctx, "/DC0")
				must(t, err)
				shows("the task that places it is found", dc.Reference().Value)
				wantKind(t, r.server.PowerOn(r.ctx, target(vm)), vsphere.KindBusy)
				place()
				shows("the task of the VM is found", vm.Ref.Value)
				if n := r.server.Health().RunningTasks; n != 1 {
					t.Errorf("%d slots are taken, want one", n)
				}
				power()
				r.isOn(0)
				if n := r.proxy.Count(byDatacenter, agent); n != 1 {
					t.Errorf("it was sent %d times", n)
				}
			})
		})
	}
}

func TestASuccessorPowersOnWhatAPredecessorWasPoweringOn(t *testing.T) {
	runsInParallel(t)
	for story, whilePlacing := range map[string]bool{"while DRS places it": true, "while its task runs": false} {
		t.Run(story, func(t *testing.T) {
			both(t, func(t *testing.T, mode govmomi.Mode) {
				placing := make(chan struct{})
				place := sync.OnceFunc(func() { close(placing) })
				r := newRig(t, mode, withDRS(sim.DRSFullyAutomated), func(o *sim.Options, _ *govmomi.Config) {
					o.HoldPlacing = func() <-chan struct{} { return placing }
				}).ensure()
				t.Cleanup(place)
				vm := r.clone(0)
				power := r.sim.HoldPowerOn(vm.Name, "")
				t.Cleanup(power)
				must(t, r.server.PowerOn(r.ctx, target(vm)))
				if !whilePlacing {
					place()
					r.until("its task runs", func() bool {
						o := r.observe()
						return len(o.InFlight) == 1 && r.entityOf(o.InFlight[0].Task) == vm.Ref.Value
					})
				}
				r.stop()
				r.start()
				r.until("the successor knows the VM", func() bool {
					found, ok := find(r.observe(), 0)
					return ok && found.Ref == vm.Ref && r.server.Health().Complete && r.observe().Complete
				})
				must(t, r.server.PowerOn(r.ctx, target(vm)))
				place()
				if !whilePlacing {
					r.until("the failure reports that the VM is busy", func() bool {
						f := r.observe().Failures
						return len(f) == 1 && vsphere.KindOf(f[0].Err) == vsphere.KindBusy
					})
				}
				power()
				r.isOn(0)
			})
		})
	}
}

// The documentation does not specify whether the privilege is needed on the datacenter. VMs ran without it before.
func TestAnAccountWithARoleBelowTheDatacenterPowersVMsOnWithoutDRS(t *testing.T) {
	r := newRig(t, govmomi.Watch, withDRS(sim.DRSManual), func(o *sim.Options, _ *govmomi.Config) { o.NarrowRole = true }).ensure()
	for i := range int32(2) {
		must(t, r.server.PowerOn(r.ctx, target(r.clone(i))))
		r.isOn(i)
	}
	if onVM, onDatacenter := r.sent(); onVM != 2 || onDatacenter != 1 {
		t.Errorf("%d calls to VMs, %d to the datacenter; want 2 and 1", onVM, onDatacenter)
	}
}

func TestAPlacingThatNamesNoTaskIsFollowedAllTheSame(t *testing.T) {
	both(t, func(t *testing.T, mode govmomi.Mode) {
		r := newRig(t, mode, withDRS(sim.DRSFullyAutomated), func(o *sim.Options, _ *govmomi.Config) { o.NoPlacedTasks = true }).ensure()
		vm := r.clone(0)
		goOn := r.sim.HoldPowerOn(vm.Name, "")
		t.Cleanup(goOn)
		must(t, r.server.PowerOn(r.ctx, target(vm)))
		r.until("the task of the VM is found", func() bool {
			o := r.observe()
			return len(o.InFlight) == 1 && r.entityOf(o.InFlight[0].Task) == vm.Ref.Value
		})
		goOn()
		r.isOn(0)
	})
}
