package govmomi_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

func TestDeletedOutsideIsGoneOnceConfirmed(t *testing.T) {
	both(t, func(t *testing.T, mode govmomi.Mode) {
		r := newRig(t, mode).ensure()
		vm, other := r.clone(0), r.clone(1)
		before := r.told.count(group.Key())
		must(t, r.person.Destroy(r.ctx, vmPath+"vg-0"))
		r.until("gone", func() bool {
			o := r.observe(vm.Ref, other.Ref)
			return o.Complete && slices.Equal(o.Gone, []vsphere.Ref{vm.Ref}) && len(o.VMs) == 1
		})
		r.toldAfter(before)
	})
}

func TestDeletedOutsideIsConfirmedThoughNoGroupAsks(t *testing.T) {
	both(t, func(t *testing.T, mode govmomi.Mode) {
		r := newRig(t, mode).ensure()
		vm, _ := r.clone(0), r.clone(1)
		before := r.told.count(group.Key())
		must(t, r.person.Destroy(r.ctx, vmPath+"vg-0"))
		r.until("the verdict", func() bool { return len(r.server.Owned(group.Key())) == 1 }) // a VM that waits for its verdict is one of them
		if o := r.observe(vm.Ref); !slices.Equal(o.Gone, []vsphere.Ref{vm.Ref}) {
			t.Errorf("gone: %v; want %s, before anybody asks", o.Gone, vm.Ref.Value)
		}
		r.toldAfter(before)
	})
}

// A deleted VM is replaced almost at once, so the search for it is one call. The operator does not
// search for VMs that it destroyed itself.
func TestALostVMCostsOneSearch(t *testing.T) {
	r := newRig(t, govmomi.Watch).ensure()
	lost, destroyed, other := r.clone(0), r.clone(1), r.clone(2)
	gone := func(vms ...vsphere.VM) func() bool {
		return func() bool {
			q := vsphere.Query{ID: group, Folder: r.folder.Ref}
			for _, vm := range append(vms, other) {
				q.Record(vm.Ref, vm.InstanceUUID)
			}
			o := r.server.Observe(q)
			return o.Complete && len(o.Gone) == len(vms) && len(o.Stale) == 0
		}
	}
	must(t, r.person.Destroy(r.ctx, vmPath+"vg-0"))
	r.until("gone", gone(lost))
	must(t, r.server.Mark(r.ctx, target(destroyed)))
	r.until("marked", func() bool { vm, _ := find(r.observe(), 1); return vm.Tombstone && len(r.observe().InFlight) == 0 })
	marked, _ := find(r.observe(), 1)
	must(t, r.server.Destroy(r.ctx, target(marked)))
	r.until("both gone", gone(lost, destroyed))
	if n := r.proxy.Count("FindAllByUuid", agent); n != 1 {
		t.Errorf("%d searches for one VM that was lost, want 1", n)
	}
}

// A group can wait long for its clone. In that time, a user registers the VM again.
func TestAVMThatIsGoneIsLookedForAgainBeforeItIsReplaced(t *testing.T) {
	var later atomic.Int64
	r := newRig(t, govmomi.Watch, func(_ *sim.Options, cfg *govmomi.Config) {
		cfg.Now = func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	}).ensure()
	vm := r.clone(0)
	r.clone(1)
	observe := func() vsphere.Observation {
		q := vsphere.Query{ID: group, Folder: r.folder.Ref}
		q.Record(vm.Ref, vm.InstanceUUID)
		return r.server.Observe(q)
	}
	files, err := r.person.Copy(r.ctx, vmPath+"vg-0", "/DC0/vm", "vg-0")
	must(t, err)
	must(t, r.person.Destroy(r.ctx, vmPath+"vg-0"))
	r.until("gone, and may be replaced", func() bool { o := observe(); return len(o.Gone) == 1 && len(o.Stale) == 0 })
	task, err := object.NewVirtualMachine(r.person.Client(), files).Reconfigure(r.ctx, types.VirtualMachineConfigSpec{InstanceUuid: vm.InstanceUUID})
	must(t, err)
	must(t, task.Wait(r.ctx))
	before := r.told.count(group.Key())
	later.Store(int64(time.Minute))
	if o := observe(); !slices.Equal(o.Stale, []vsphere.Ref{vm.Ref}) {
		t.Errorf("a minute later %v are stale, want %s", o.Stale, vm.Ref.Value)
	}
	r.toldAfter(before)
	r.until("elsewhere", func() bool { o := observe(); return o.Found[vm.Ref].Ref.Value == files.Value && len(o.Gone) == 0 })
}

func TestPoweredOffOutsideIsSeen(t *testing.T) {
	both(t, func(t *testing.T, mode govmomi.Mode) {
		r := newRig(t, mode).ensure()
		vm := r.clone(0)
		must(t, r.server.PowerOn(r.ctx, target(vm)))
		r.until("on", func() bool {
			o := r.observe()
			vm, _ := find(o, 0)
			return vm.Power == vsphere.PoweredOn && len(o.InFlight) == 0
		})
		must(t, r.person.PowerOff(r.ctx, vmPath+"vg-0"))
		r.until("off", func() bool { vm, _ := find(r.observe(), 0); return vm.Power == vsphere.PoweredOff })
	})
}

func TestGuestStateIsSeen(t *testing.T) {
	both(t, func(t *testing.T, mode govmomi.Mode) {
		r := newRig(t, mode).ensure()
		r.clone(0)
		must(t, r.person.Set(r.ctx, vmPath+"vg-0", map[string]string{
			"SET.guest.ipAddress": "192.0.2.7", "SET.guestHeartbeatStatus": "green",
			"SET.guest.toolsRunningStatus": "guestToolsRunning",
		}))
		r.until("guest state", func() bool {
			vm, _ := find(r.observe(), 0)
			return vm.GuestIP == "192.0.2.7" && vm.HeartbeatGreen && vm.ToolsRunning
		})
	})
}

// VMware Tools can report a container bridge, and a guest without DHCP has an unreachable address.
func TestTheAddressOfAGuestIsThatOfItsFirstAdapter(t *testing.T) {
	both(t, func(t *testing.T, mode govmomi.Mode) {
		r := newRig(t, mode).ensure()
		vm := r.clone(0)
		must(t, r.person.Set(r.ctx, vmPath+"vg-0", map[string]string{sim.GuestBoot: "0s", sim.GuestBridge: "172.17.0.1"}))
		must(t, r.person.PowerOn(r.ctx, vmPath+"vg-0"))
		r.until("an address", func() bool { vm, _ = find(r.observe(), 0); return vm.Addresses.Primary != "" })
		if !strings.HasPrefix(vm.GuestIP, "10.") || vm.Addresses.Primary != "172.17.0.1" {
			t.Errorf("the address is %s of %+v", vm.GuestIP, vm.Addresses)
		}
		must(t, r.person.PowerOff(r.ctx, vmPath+"vg-0"))
		r.until("off without one", func() bool { vm, _ = find(r.observe(), 0); return vm.Power == vsphere.PoweredOff && vm.GuestIP == "" })
	})
}

func TestWhyAVMIsNotReachedIsSeen(t *testing.T) {
	r := newRig(t, govmomi.Watch).ensure()
	r.clone(0)
	for _, state := range []vsphere.Connection{vsphere.Orphaned, vsphere.Invalid, vsphere.Inaccessible, vsphere.Disconnected, vsphere.Connected} {
		must(t, r.person.Set(r.ctx, vmPath+"vg-0", map[string]string{"SET.runtime.connectionState": string(state)}))
		r.until(string(state), func() bool {
			vm, _ := find(r.observe(), 0)
			return vm.Connection == state && vm.Connected() == (state == vsphere.Connected)
		})
	}
}

func TestMovedOutOfTheRootIsElsewhere(t *testing.T) {
	// The simulator's watch does not report a move: the resync finds it.
	both(t, func(t *testing.T, mode govmomi.Mode) {
		r := newRig(t, mode, resyncOften).ensure()
		vm := r.clone(0)
		must(t, r.person.Move(r.ctx, vmPath+"vg-0", "/DC0/vm"))
		must(t, r.person.Set(r.ctx, "/DC0/vm/vg-0", map[string]string{"SET.guest.ipAddress": "192.0.2.1"})) // wakes the watch
		r.until("elsewhere", func() bool {
			o := r.observe(vm.Ref)
			return slices.Equal(o.Elsewhere, []vsphere.Ref{vm.Ref}) && len(o.Gone) == 0 && len(o.VMs) == 0
		})
		wantKind(t, r.server.PowerOn(r.ctx, target(vm)), vsphere.KindTransient) // not in the inventory
		must(t, r.person.Move(r.ctx, "/DC0/vm/vg-0", "/DC0/vm/vm-operator/m/ns/vg.12345678"))
		must(t, r.person.Set(r.ctx, vmPath+"vg-0", map[string]string{"SET.guest.ipAddress": "192.0.2.2"}))
		r.until("back", func() bool { o := r.observe(vm.Ref); return len(o.VMs) == 1 && len(o.Elsewhere) == 0 })
	})
}

func TestAVMOutsideOfTheRootWithoutTheGroupsStampIsNotTheGroupsThoughItIsAskedFor(t *testing.T) {
	r := newRig(t, govmomi.Watch).ensure()
	vm := r.clone(0)
	must(t, r.person.Move(r.ctx, vmPath+"vg-0", "/DC0/vm"))
	ref, err := r.person.CreateVM(r.ctx, "/DC0/vm", "innocent")
	must(t, err)
	innocent := vsphere.VMRef(ref.Value)
	r.until("the one is the group's, the other is not", func() bool {
		o := r.observe(vm.Ref, innocent)
		return slices.Equal(o.Elsewhere, []vsphere.Ref{vm.Ref}) && slices.Equal(o.Others, []vsphere.Ref{innocent})
	})
}

// TestVMsOfAFolderThatWasMovedOutAreElsewhere: the simulator's watch reports only the folder.
func TestVMsOfAFolderThatWasMovedOutAreElsewhere(t *testing.T) {
	r := newRig(t, govmomi.Watch).ensure()
	vm := r.clone(0)
	must(t, r.person.MoveFolder(r.ctx, r.folder.Path, "/DC0/vm"))
	r.until("folder and VM are elsewhere", func() bool {
		o := r.observe(vm.Ref)
		return o.FolderElsewhere && len(o.Elsewhere) == 1
	})
}

func TestCopyByHandIsShownAsAnotherVM(t *testing.T) {
	both(t, func(t *testing.T, mode govmomi.Mode) {
		r := newRig(t, mode).ensure()
		vm := r.clone(0)
		copied, err := r.person.Copy(r.ctx, vmPath+"vg-0", "/DC0/vm/vm-operator/m/ns/vg.12345678", "my-copy")
		must(t, err)
		r.until("both are seen with the same stamp", func() bool {
			o := r.observe(vm.Ref)
			return len(o.VMs) == 2 && slices.ContainsFunc(o.VMs, func(v vsphere.VM) bool {
				return v.Ref.Value == copied.Value && v.Stamp != nil && *v.Stamp == *vm.Stamp
			})
		})
	})
}

func TestForeignVMInTheFolderIsNotTouched(t *testing.T) {
	both(t, func(t *testing.T, mode govmomi.Mode) {
		r := newRig(t, mode).ensure()
		r.observe() // the folder belongs to the group from now on
		before := r.told.count(group.Key())
		ref, err := r.person.CreateVM(r.ctx, "/DC0/vm/vm-operator/m/ns/vg.12345678", "vg-0")
		must(t, err)
		var foreign vsphere.VM
		r.until("foreign VM is seen without a stamp", func() bool {
			o := r.observe()
			if len(o.VMs) == 1 {
				foreign = o.VMs[0]
			}
			return foreign.Ref.Value == ref.Value && foreign.Stamp == nil
		})
		r.toldAfter(before)
		tgt := vsphere.Target{VM: foreign.Ref, ID: group}
		wantKind(t, r.server.PowerOn(r.ctx, tgt), vsphere.KindForeign)
		wantKind(t, r.server.Mark(r.ctx, tgt), vsphere.KindForeign)
		wantKind(t, r.server.Release(r.ctx, tgt), vsphere.KindForeign)
		wantKind(t, r.server.Destroy(r.ctx, tgt), vsphere.KindForeign)
		wantKind(t, r.server.DestroyFolder(r.ctx, r.folder.Ref), vsphere.KindNotEmpty)

		// The name is taken: the clone fails and names the owner.
		must(t, r.server.Clone(r.ctx, r.request(0)))
		var taken vsphere.Failure
		r.until("name taken", func() bool {
			o := r.observe()
			at := slices.IndexFunc(o.Failures, func(f vsphere.Failure) bool { return f.Kind == vsphere.OpClone }) // the destruction was rejected, too
			if at >= 0 {
				taken = o.Failures[at]
			}
			return vsphere.KindOf(taken.Err) == vsphere.KindNameTaken && len(o.InFlight) == 0
		})
		if f := taken; f.Revision != "1-abc" || f.Count != 1 || !f.RetryAt.After(f.At) {
			t.Errorf("failure is %+v", f)
		}
		vms, err := r.person.VMs(r.ctx)
		must(t, err)
		if _, ok := vms[vmPath+"vg-0"]; !ok {
			t.Error("the foreign VM was deleted")
		}
	})
}

func TestOwnNameIsAdopted(t *testing.T) {
	r := newRig(t, govmomi.Poll).ensure()
	first := r.clone(0)
	again := r.request(0)
	again.Stamp.Incarnation = 2
	must(t, r.server.Clone(r.ctx, again))
	r.until("settled without failure", func() bool { o := r.observe(); return len(o.InFlight) == 0 })
	o := r.observe()
	if len(o.Failures) != 0 || len(o.VMs) != 1 || o.VMs[0].Ref != first.Ref {
		t.Errorf("observation is %+v", o)
	}
}

func TestReleasedVMIsNobodys(t *testing.T) {
	both(t, func(t *testing.T, mode govmomi.Mode) {
		r := newRig(t, mode).ensure()
		vm := r.clone(0)
		must(t, r.server.Release(r.ctx, target(vm)))
		r.until("released", func() bool {
			o := r.observe()
			return len(o.VMs) == 1 && o.VMs[0].Stamp == nil && len(o.InFlight) == 0
		})
		wantKind(t, r.server.Destroy(r.ctx, target(vm)), vsphere.KindForeign)
		vms, err := r.person.VMs(r.ctx)
		must(t, err)
		const want = "vmgroup.retained=v1;inst-1;member-1;ns;group-1;0;1-abc"
		var left []string
		for key, value := range vms[vmPath+"vg-0"].Extra {
			if strings.HasPrefix(key, "vmgroup.") {
				left = append(left, key+"="+value)
			}
		}
		// The list of its original disks is still valid, but does not name an owner.
		if slices.Sort(left); !slices.Equal(left, []string{"vmgroup.disks=v1;", want}) {
			t.Errorf("left in its configuration is %q, want %q", left, want)
		}
	})
}

func TestEverythingVanishesAtOnce(t *testing.T) {
	r := newRig(t, govmomi.Poll).ensure()
	for i := range int32(3) {
		must(t, r.server.Clone(r.ctx, r.request(i)))
	}
	r.until("three VMs", func() bool { o := r.observe(); return len(o.VMs) == 3 && len(o.InFlight) == 0 })
	r.stop()
	for i := range 3 {
		must(t, r.person.Destroy(r.ctx, vmPath+"vg-"+string(rune('0'+i))))
	}
	r.cfg.ExpectedVMs = 3
	r.start()
	r.until("alarm", func() bool { h := r.server.Health(); return h.SuddenlyEmpty && !h.Complete })
	r.server.AcceptEmpty()
	r.until("accepted", func() bool { h := r.server.Health(); return !h.SuddenlyEmpty && h.Complete })
}

func TestVMsThatAnotherReplicaDestroyedAreNoSuddenEmptiness(t *testing.T) {
	r := newRig(t, govmomi.Poll).ensure()
	vms := []vsphere.VM{r.clone(0), r.clone(1), r.clone(2)}
	other := *r
	other.cfg.PollInterval = time.Second // it sees none of the intermediate steps
	other.cfg.Session.UserAgent = agent + "-other"
	other.start()
	other.until("the other to see three VMs", func() bool { return len(other.observe().VMs) == 3 })
	for _, vm := range vms {
		must(t, r.server.Mark(r.ctx, target(vm)))
	}
	r.until("marked", func() bool { return len(r.observe().InFlight) == 0 })
	for _, vm := range vms {
		must(t, r.server.Destroy(r.ctx, target(vm)))
	}
	other.until("the other to continue without a confirmation", func() bool {
		h := other.server.Health()
		return h.VMs == 0 && !h.SuddenlyEmpty && h.Complete
	})

	// A destruction by another user is no explanation.
	for i := range int32(2) {
		r.clone(i)
	}
	other.until("the other to see two VMs", func() bool { return len(other.observe().VMs) == 2 })
	// Its next listing is held until both were deleted. A listing that shows one of two raises no
	// alarm, and neither does the next one.
	goOn := other.held(other.cfg.Session.UserAgent)
	defer goOn()
	for i := range 2 {
		must(t, r.person.Destroy(r.ctx, vmPath+"vg-"+string(rune('0'+i))))
	}
	goOn()
	other.until("alarm", func() bool { return other.server.Health().SuddenlyEmpty })
}

// vCenter reports the methods of a VM that it would reject. The start or end of a backup is news.
func TestAMethodThatIsDisabledIsSeen(t *testing.T) {
	both(t, func(t *testing.T, mode govmomi.Mode) {
		r := newRig(t, mode).ensure()
		r.clone(0)
		for _, want := range []string{"PowerOffVM_Task", "ReconfigVM_Task", ""} {
			before := r.told.count(group.Key())
			must(t, r.person.Disable(r.ctx, vmPath+"vg-0", "MigrateVM_Task", "ShutdownGuest", want))
			r.until(want, func() bool { vm, ok := find(r.observe(), 0); return ok && vm.Disabled == want })
			r.toldAfter(before)
		}
	})
}
