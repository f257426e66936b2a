package sim

import (
	"slices"
	"strings"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// makings are the VMs that clones are making, or that clones which failed have left. The simulator has them whole from
// the start; nobody reads more of them than a vCenter shows, or changes them.
type makings struct {
	mu  sync.RWMutex
	vms map[types.ManagedObjectReference]halfMade
}

// halfMade is a VM that is not whole.
type halfMade struct {
	shows Making
	// task is that of its clone; nil once the clone has failed.
	task *types.ManagedObjectReference
}

func (m *makings) begin(vm types.ManagedObjectReference, shows Making, task types.ManagedObjectReference) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.vms == nil {
		m.vms = map[types.ManagedObjectReference]halfMade{}
	}
	m.vms[vm] = halfMade{shows, &task}
}

// fail says that the clone of a VM has failed, and has left the VM.
func (m *makings) fail(vm types.ManagedObjectReference) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if half, ok := m.vms[vm]; ok {
		m.vms[vm] = halfMade{half.shows, nil}
	}
}

func (m *makings) end(vm types.ManagedObjectReference) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.vms, vm)
}

func (m *makings) of(vm types.ManagedObjectReference) (half halfMade, ok bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	half, ok = m.vms[vm]
	return half, ok
}

func (m *makings) any() bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.vms) > 0
}

// changing are the methods that change a VM, or that start from what it is. Those with true are for a VM that a failed
// clone has left, too.
var changing = map[string]bool{
	"Destroy_Task": true, "UnregisterVM": true, "Rename_Task": true,
	"CloneVM_Task": false, "CreateSnapshot_Task": false, "MarkAsTemplate": false, "PowerOffVM_Task": false, "PowerOnVM_Task": false,
	"ReconfigVM_Task": false, "RelocateVM_Task": false, "ShutdownGuest": false,
}

// check refuses what would change a VM that is not whole.
func (m *makings) check(call *simulator.Method) types.BaseMethodFault {
	if move, ok := call.Body.(*types.MoveIntoFolder_Task); ok {
		for _, ref := range move.List {
			if half, ok := m.of(ref); ok && half.task != nil {
				return &types.TaskInProgress{Task: *half.task}
			}
		}
		return nil
	}
	always, changes := changing[call.Name]
	half, ok := m.of(call.This)
	switch {
	case !ok || !changes:
		return nil
	case half.task != nil:
		return &types.TaskInProgress{Task: *half.task}
	case !always:
		return &types.InvalidState{}
	}
	return nil
}

// filter takes out what nobody can read of VMs that are not whole.
func (m *makings) filter(objects []types.ObjectContent) {
	for i := range objects {
		half, ok := m.of(objects[i].Obj)
		if !ok {
			continue
		}
		objects[i].PropSet = slices.DeleteFunc(objects[i].PropSet, func(p types.DynamicProperty) bool { return half.hides(p.Name) })
		for j, p := range objects[i].PropSet {
			if config, ok := p.Val.(types.VirtualMachineConfigInfo); ok {
				config.ExtraConfig = nil
				objects[i].PropSet[j].Val = config
			}
		}
	}
}

// hides reports whether a property is unset.
func (h halfMade) hides(property string) bool {
	hidden := []string{"config", "summary.config"}
	if h.shows == WithoutExtraConfig {
		hidden = []string{"config.extraConfig"}
	}
	return slices.ContainsFunc(hidden, func(name string) bool {
		rest, below := strings.CutPrefix(property, name)
		return below && (rest == "" || strings.ContainsAny(rest[:1], ".["))
	})
}

// filtered is what an answer shows of VMs that are not whole.
func (m *makings) filtered(answer soap.HasFault) soap.HasFault {
	if body, ok := answer.(*methods.RetrievePropertiesExBody); ok && body.Res != nil && body.Res.Returnval != nil && m.any() {
		m.filter(body.Res.Returnval.Objects)
	}
	return answer
}

// ContinueRetrievePropertiesEx reads the next page of a listing.
func (d *desk) ContinueRetrievePropertiesEx(ctx *simulator.Context, req *types.ContinueRetrievePropertiesEx) (answer soap.HasFault) {
	collector, ok := ctx.Session.Get(req.This).(propertyReader)
	if !ok {
		return &methods.ContinueRetrievePropertiesExBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})}
	}
	ctx.WithLock(collector, func() { answer = collector.ContinueRetrievePropertiesEx(ctx, req) })
	if body, ok := answer.(*methods.ContinueRetrievePropertiesExBody); ok && body.Res != nil {
		d.strict.makings.filter(body.Res.Returnval.Objects)
	}
	return answer
}
