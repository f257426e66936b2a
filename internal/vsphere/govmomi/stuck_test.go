package govmomi_test

import (
	"testing"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// A VM asks a question, so its power-on does not end. Its mark for removal is rejected until a
// user has answered, and does not wait for the task.
func TestAPowerOnThatHangsIsShownAndOvertakenByWhatEndsTheVM(t *testing.T) {
	runsInParallel(t)
	const question = "Was it moved or copied?"
	for story, answer := range map[string]func(r *rig, task string, goOn func()){
		"it is answered": func(_ *rig, _ string, goOn func()) { goOn() },
		"its task is canceled": func(r *rig, task string, _ func()) {
			_, err := methods.CancelTask(r.ctx, r.person.Client(), &types.CancelTask{This: types.ManagedObjectReference{Type: "Task", Value: task}})
			must(r.t, err)
		},
	} {
		t.Run(story, func(t *testing.T) {
			c := newClock()
			r := newRig(t, govmomi.Watch, func(_ *sim.Options, cfg *govmomi.Config) { cfg.Now = c.now }).ensure()
			vm := r.clone(0)
			goOn := r.sim.HoldPowerOn(vm.Name, question)
			t.Cleanup(goOn)
			must(t, r.server.PowerOn(r.ctx, target(vm)))
			var op vsphere.Operation
			r.until("the task and the question are shown", func() bool {
				o := r.observe()
				vm, _ = find(o, 0)
				if len(o.InFlight) != 1 || vm.Question != question {
					return false
				}
				op = o.InFlight[0]
				return op.Kind == vsphere.OpPowerOn && op.Task != ""
			})
			err := r.server.Mark(r.ctx, target(vm))
			if wantKind(t, err, vsphere.KindBusy); r.proxy.Count("ReconfigVM_Task", agent) > 0 {
				t.Error("the end of the VM does not wait for a power-on that has just begun")
			}
			c.advanceBy(vsphere.HangsAfter)
			err = r.server.Mark(r.ctx, target(vm))
			if wantKind(t, err, vsphere.KindBusy); r.proxy.Count("ReconfigVM_Task", agent) == 0 {
				t.Error("the end of the VM waits for the power-on")
			}
			answer(r, op.Task, goOn)
			r.until("the question is forgotten", func() bool { vm, _ = find(r.observe(), 0); return vm.Question == "" })
			r.until("the VM is marked", func() bool {
				if vm, _ = find(r.observe(), 0); !vm.Tombstone {
					_ = r.server.Mark(r.ctx, target(vm)) // busy for a moment
				}
				return vm.Tombstone
			})
		})
	}
}
