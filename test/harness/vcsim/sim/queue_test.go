package sim_test

import (
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

func (h hand) state(task *object.Task) types.TaskInfoState {
	h.t.Helper()
	var props mo.Task
	must(h.t, property.DefaultCollector(h.Client()).RetrieveOne(h.ctx, task.Reference(), []string{"info"}, &props))
	return props.Info.State
}

func TestMoreTasksThanMayRunAreQueued(t *testing.T) {
	released := make(chan struct{})
	h := person(t, sim.Options{RunningTasks: 1, HoldClone: func(string) (<-chan struct{}, bool) { return released, false }})
	pool, err := h.find.DefaultResourcePool(h.ctx)
	must(t, err)
	into := pool.Reference()
	clone, err := h.vm(template).Clone(h.ctx, h.folder(root), "a", types.VirtualMachineCloneSpec{Location: types.VirtualMachineRelocateSpec{Pool: &into}})
	must(t, err)
	await.True(t, "the clone runs", func() bool { return h.state(clone) == types.TaskInfoStateRunning }, func() string { return string(h.state(clone)) })
	on, err := h.vm(ordinary).PowerOn(h.ctx)
	must(t, err)
	if got := h.state(on); got != types.TaskInfoStateQueued {
		t.Errorf("the power-on is %s", got)
	}
	if got := h.config(ordinary).Name; got != "db-prod-0" {
		t.Errorf("while a task of it is queued, the VM shows name %q", got)
	}
	close(released)
	must(t, clone.Wait(h.ctx))
	must(t, on.Wait(h.ctx))
}

func TestABusyVMIsNotChanged(t *testing.T) {
	for story, refuses := range map[string]bool{"refused": true, "one after the other": false} {
		t.Run(story, func(t *testing.T) {
			released := make(chan struct{})
			h := person(t, sim.Options{RunningTasks: 1, RefuseBusy: refuses, HoldClone: func(string) (<-chan struct{}, bool) { return released, false }})
			pool, err := h.find.DefaultResourcePool(h.ctx)
			must(t, err)
			into := pool.Reference()
			clone, err := h.vm(template).Clone(h.ctx, h.folder(root), "a", types.VirtualMachineCloneSpec{Location: types.VirtualMachineRelocateSpec{Pool: &into}})
			must(t, err)
			await.True(t, "the clone runs", func() bool { return h.state(clone) == types.TaskInfoStateRunning }, func() string { return string(h.state(clone)) })
			on, err := h.vm(ordinary).PowerOn(h.ctx)
			must(t, err)
			change, err := h.vm(ordinary).Reconfigure(h.ctx, types.VirtualMachineConfigSpec{Annotation: "x"})
			if refuses {
				if busy := refused[*types.TaskInProgress](t, err); busy != nil && busy.Task != on.Reference() {
					t.Errorf("it is busy with %v, want %v", busy.Task, on.Reference())
				}
			} else {
				must(t, err)
			}
			close(released)
			must(t, on.Wait(h.ctx))
			if !refuses {
				must(t, change.Wait(h.ctx))
			}
			must(t, clone.Wait(h.ctx))
			await.True(t, "it is busy no more", func() bool { return h.reconfigure(ordinary, types.VirtualMachineConfigSpec{Annotation: "y"}) == nil }, func() string { return "" })
		})
	}
}
