package sim

import (
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// stuck contains the VMs whose power-on hangs.
type stuck struct {
	mu sync.Mutex
	// held are the VMs whose next power-on hangs, by name.
	held map[string]held
	// tasks are the hanging tasks, by VM.
	tasks sync.Map
}

// held contains the end of a hanging power-on, and the VM's question until then.
type held struct {
	until    chan struct{}
	question string
}

// HoldPowerOn makes power-ons of the VM with a name hang until release is called. Until then the VM asks the question,
// unless that is empty, and vCenter rejects changes of the VM.
func (s *Simulator) HoldPowerOn(name, question string) (release func()) {
	h := &s.rules.stuck
	until := make(chan struct{})
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held == nil {
		h.held = map[string]held{}
	}
	h.held[name] = held{until, question}
	return sync.OnceFunc(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.held, name)
		close(until)
	})
}

// of returns the hang of a VM's power-on. until is nil if it does not hang.
func (s *stuck) of(name string) held {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held[name]
}

// check refuses changes of a VM whose power-on hangs.
func (s *stuck) check(m *simulator.Method) types.BaseMethodFault {
	if changesVM(m.Body) {
		if task, hangs := s.tasks.Load(m.This); hangs {
			return &types.TaskInProgress{Task: task.(types.ManagedObjectReference)} //nolint:forcetypeassert // nothing else is stored
		}
	}
	return nil
}

// PowerOnVMTask powers on a VM after its hang. It can be canceled until then.
func (d *desk) PowerOnVMTask(ctx *simulator.Context, req *types.PowerOnVM_Task) soap.HasFault {
	return d.powerOn(ctx, req, &submission{entity: req.This})
}

func (d *desk) powerOn(ctx *simulator.Context, req *types.PowerOnVM_Task, s *submission) soap.HasFault {
	vm, ok := ctx.Map.Get(req.This).(*simulator.VirtualMachine)
	if !ok {
		return &methods.PowerOnVM_TaskBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})}
	}
	var name string
	ctx.WithLock(vm, func() { name = vm.Name })
	hang := d.strict.stuck.of(name)
	start := func() soap.HasFault { return vm.PowerOnVMTask(ctx, req) }
	s.around = func(t *simulator.Task, run execute) (types.AnyType, types.BaseMethodFault) {
		return d.strict.drs.run(ctx, vm, s.placed, func() (types.AnyType, types.BaseMethodFault) { return run(t) })
	}
	if hang.until == nil {
		return started(ctx, s, start)
	}
	s.cancelable, s.until = true, hang.until
	work := s.around
	s.around = func(t *simulator.Task, run execute) (types.AnyType, types.BaseMethodFault) {
		d.strict.stuck.tasks.Delete(req.This)
		ask(ctx, vm, "")
		if canceled(ctx, t) {
			d.strict.drs.leave(req.This)
			return nil, &types.RequestCanceled{}
		}
		return work(t, run)
	}
	hanging := &d.strict.stuck.tasks
	hanging.Store(req.This, types.ManagedObjectReference{}) // the task can end before it is stored here
	ctx.WithLock(vm, func() { ask(ctx, vm, hang.question) })
	res := structural(ctx, s, start)
	if s.task == nil {
		hanging.Delete(req.This)
		ctx.WithLock(vm, func() { ask(ctx, vm, "") })
		return res
	}
	hanging.CompareAndSwap(req.This, types.ManagedObjectReference{}, s.task.Self)
	return res
}

// ask sets the pending question of a VM. The caller holds the VM.
func ask(ctx *simulator.Context, vm *simulator.VirtualMachine, question string) {
	if vm.Runtime.Question = nil; question != "" {
		vm.Runtime.Question = &types.VirtualMachineQuestionInfo{Id: "1", Text: question}
	}
	// The simulator cannot assign nil to a property. Another update makes it notify watchers.
	ctx.Update(vm, []types.PropertyChange{{Name: "runtime.connectionState", Val: vm.Runtime.ConnectionState}})
}
