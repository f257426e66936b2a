package sim_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

func TestATakenInstanceUUIDIsReassigned(t *testing.T) {
	h := person(t, sim.Options{})
	id := uuid.NewString()
	with := func(s *types.VirtualMachineCloneSpec) { s.Config = &types.VirtualMachineConfigSpec{InstanceUuid: id} }
	must(t, h.clone(template, root, "a", with))
	must(t, h.clone(template, root, "b", with))
	a, b := h.config(root+"/a").InstanceUuid, h.config(root+"/b").InstanceUuid
	if a != id || b == id || b == "" {
		t.Errorf("UUIDs are %q and %q, wanted was %q", a, b, id)
	}
	must(t, h.done(h.vm(root+"/b").Reconfigure(h.ctx, types.VirtualMachineConfigSpec{InstanceUuid: id})))
	if got := h.config(root + "/b").InstanceUuid; got == id {
		t.Error("a VM was given the UUID of another")
	}
	must(t, h.Destroy(h.ctx, root+"/a"))
	must(t, h.clone(template, root, "c", with))
	if got := h.config(root + "/c").InstanceUuid; got != id {
		t.Errorf("the UUID of a deleted VM is not free: got %q", got)
	}
}

func TestACloneNeedsASnapshotOfItsOwnSource(t *testing.T) {
	h := person(t, sim.Options{Templates: []string{"vm-operator-template", "other"}})
	linked := func(snapshot *types.ManagedObjectReference) func(*types.VirtualMachineCloneSpec) {
		return func(s *types.VirtualMachineCloneSpec) {
			s.Snapshot = snapshot
			s.Location.DiskMoveType = string(types.VirtualMachineRelocateDiskMoveOptionsCreateNewChildDiskBacking)
		}
	}
	own, err := h.vm(template).FindSnapshot(h.ctx, "base")
	must(t, err)
	foreign, err := h.vm(root+"/other").FindSnapshot(h.ctx, "base")
	must(t, err)
	refused[*types.ManagedObjectNotFound](t, h.clone(template, root, "a",
		linked(&types.ManagedObjectReference{Type: "VirtualMachineSnapshot", Value: "snapshot-none"})))
	refused[*types.InvalidArgument](t, h.clone(template, root, "a", linked(foreign)))
	refused[*types.InvalidArgument](t, h.clone(template, root, "a", linked(nil)))
	must(t, h.clone(template, root, "a", linked(own)))
}

func TestACloneRefersToThingsThatExist(t *testing.T) {
	h := person(t, sim.Options{})
	gone := h.mkdir(root, "gone")
	must(t, h.done(gone.Destroy(h.ctx)))
	for what, change := range map[string]func(*types.VirtualMachineCloneSpec){
		"folder": func(s *types.VirtualMachineCloneSpec) { ref := gone.Reference(); s.Location.Folder = &ref },
		"pool": func(s *types.VirtualMachineCloneSpec) {
			s.Location.Pool = &types.ManagedObjectReference{Type: "ResourcePool", Value: "none"}
		},
		"datastore": func(s *types.VirtualMachineCloneSpec) {
			s.Location.Datastore = &types.ManagedObjectReference{Type: "Datastore", Value: "none"}
		},
	} {
		t.Run(what, func(t *testing.T) {
			refused[*types.ManagedObjectNotFound](t, h.clone(template, root, "a", change))
		})
	}
}

// inTime retries, with more time, until an action during a clone happened before the clone's end: on a busy machine the
// clone can be done first. try reports whether it was in time.
func inTime(t *testing.T, try func(delay time.Duration) bool) {
	t.Helper()
	const longest = 10 * time.Second
	for delay := 300 * time.Millisecond; !try(delay); delay *= 2 {
		if t.Failed() || delay > longest {
			t.Fatalf("the clone was done first, although it takes %v", delay)
		}
	}
}

func TestAFolderThatVanishesDuringACloneIsNotFound(t *testing.T) {
	inTime(t, func(delay time.Duration) bool {
		h := person(t, sim.Options{CloneDelay: delay, CloneShows: sim.Unseen})
		f := h.mkdir(root, "f")
		task, err := h.StartClone(h.ctx, template, root+"/f", "late", nil)
		must(t, err)
		must(t, h.done(f.Destroy(h.ctx)))
		if err = task.Wait(h.ctx); err == nil {
			return false
		}
		refused[*types.ManagedObjectNotFound](t, err)
		return true
	})
}

func TestASourceThatVanishesDuringACloneIsNotFound(t *testing.T) {
	inTime(t, func(delay time.Duration) bool {
		h := person(t, sim.Options{CloneDelay: delay, CloneShows: sim.Unseen})
		vm := h.vm(ordinary).Reference()
		task, err := h.StartClone(h.ctx, ordinary, root, "late", nil)
		must(t, err)
		must(t, h.Destroy(h.ctx, ordinary))
		if err = task.Wait(h.ctx); err == nil {
			return false
		}
		gone := refused[*types.ManagedObjectNotFound](t, err)
		if gone != nil && gone.Obj != vm {
			t.Errorf("not found is %v, want %v", gone.Obj, vm)
		}
		return true
	})
}

func TestACloneHasWhatItsSourceHas(t *testing.T) {
	h := person(t, sim.Options{})
	yes := true
	must(t, h.done(h.vm(ordinary).Reconfigure(h.ctx, types.VirtualMachineConfigSpec{
		Annotation: "kept", CpuHotAddEnabled: &yes, MemoryHotAddEnabled: &yes,
		ExtraConfig: []types.BaseOptionValue{
			&types.OptionValue{Key: "a", Value: "source"}, &types.OptionValue{Key: "b", Value: "source"},
			&types.OptionValue{Key: "c", Value: "source"},
		},
	})))
	must(t, h.clone(ordinary, root, "copy", func(s *types.VirtualMachineCloneSpec) {
		s.Config = &types.VirtualMachineConfigSpec{ExtraConfig: []types.BaseOptionValue{
			&types.OptionValue{Key: "b", Value: "request"}, &types.OptionValue{Key: "c", Value: ""},
		}}
	}))
	c := h.config(root + "/copy")
	has := object.OptionValueList(c.ExtraConfig)
	a, _ := has.GetString("a")
	b, _ := has.GetString("b")
	_, removed := has.GetString("c")
	if a != "source" || b != "request" || removed {
		t.Errorf("extraConfig has a=%q, b=%q, c: %v", a, b, removed)
	}
	if c.Annotation != "kept" || c.CpuHotAddEnabled == nil || !*c.CpuHotAddEnabled || c.MemoryHotAddEnabled == nil || !*c.MemoryHotAddEnabled {
		t.Errorf("annotation %q, hot-add of CPU %v and memory %v", c.Annotation, c.CpuHotAddEnabled, c.MemoryHotAddEnabled)
	}
}

func TestACanceledCloneLeavesNoVM(t *testing.T) {
	inTime(t, func(delay time.Duration) bool {
		h := person(t, sim.Options{CloneDelay: delay})
		task, err := h.StartClone(h.ctx, template, root, "canceled", nil)
		must(t, err)
		canceled := task.Cancel(h.ctx)
		if err = task.Wait(h.ctx); err == nil {
			if canceled == nil {
				t.Error("a canceled clone completed")
			}
			return false
		}
		must(t, canceled)
		refused[*types.RequestCanceled](t, err)
		// A second clone ends after the first one would have.
		must(t, h.clone(template, root, "next", nil))
		refused[*types.RequestCanceled](t, task.Wait(h.ctx))
		if got := h.paths(); len(got) != 3 {
			t.Errorf("VMs are %v", got)
		}
		refused[*types.InvalidState](t, task.Cancel(h.ctx))
		return true
	})
}

func TestACloneThatHangsEndsWhenItIsCanceledByThoseWhoMay(t *testing.T) {
	goOn := make(chan struct{})
	s, p := start(t, sim.Options{Username: "user", Password: "pass", HoldClone: func(name string) (<-chan struct{}, bool) {
		if name == "next" {
			return nil, false
		}
		return goOn, true
	}})
	account, err := sim.NewOperator(t.Context(), s.URL, "user", "pass")
	must(t, err)
	t.Cleanup(account.Close)
	own, admin := newHand(t, account), newHand(t, p)
	task, err := own.StartClone(own.ctx, template, root, "hangs", nil)
	must(t, err)
	foreign, err := admin.StartClone(admin.ctx, template, root, "theirs", nil)
	must(t, err)
	_, err = methods.CancelTask(own.ctx, own.Client(), &types.CancelTask{This: foreign.Reference()})
	if fault := refused[*types.NoPermission](t, err); fault != nil && fault.PrivilegeId != "Global.CancelTask" {
		t.Errorf("it lacks %s", fault.PrivilegeId)
	}
	must(t, task.Cancel(own.ctx))
	refused[*types.RequestCanceled](t, task.Wait(own.ctx))
	must(t, admin.clone(template, root, "next", nil))
	if info := infoOf(admin, foreign); info.State != types.TaskInfoStateRunning {
		t.Errorf("the foreign clone is %s", info.State)
	}
	close(goOn)
	must(t, foreign.Wait(admin.ctx))
}

func TestATaskTellsWhatItIsAndWhoseItIs(t *testing.T) {
	h := person(t, sim.Options{CloneDelay: 300 * time.Millisecond})
	task, err := h.StartClone(h.ctx, template, root, "a", nil)
	must(t, err)
	// While it runs and afterwards.
	for range 2 {
		info := infoOf(h, task)
		reason, _ := info.Reason.(*types.TaskReasonUser)
		if info.Entity == nil || *info.Entity != h.vm(template).Reference() || info.DescriptionId != "VirtualMachine.clone" ||
			reason == nil || reason.UserName != sim.AdminUsername {
			t.Errorf("the task is %s of %v by %+v", info.DescriptionId, info.Entity, info.Reason)
		}
		must(t, task.Wait(h.ctx))
	}
}

func TestTasksAreForgotten(t *testing.T) {
	h := person(t, sim.Options{TaskRetention: 100 * time.Millisecond})
	task, err := h.vm(ordinary).PowerOn(h.ctx)
	must(t, err)
	if err := task.Wait(h.ctx); err != nil {
		refused[*types.ManagedObjectNotFound](t, err) // a busy machine reads after it was forgotten
	}
	h.until("the task is not found", func() bool {
		_, err := infoErr(h, task)
		if err != nil {
			refused[*types.ManagedObjectNotFound](t, err)
		}
		return err != nil
	})
	for _, of := range []types.ManagedObjectReference{*h.Client().ServiceContent.TaskManager, h.vm(ordinary).Reference()} {
		if recent := recentTasks(h, of); len(recent) != 0 {
			t.Errorf("recent tasks of %v are %v", of, recent)
		}
	}
	_, err = methods.CancelTask(h.ctx, h.Client(), &types.CancelTask{This: task.Reference()})
	refused[*types.ManagedObjectNotFound](t, err)
}
