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

// makings are the VMs of running clones, and of failed clones that left their VM. The simulator has complete VMs from the start, but
// clients can read only what a vCenter shows, and cannot change the VMs.
type makings struct {
	mu  sync.RWMutex
	vms map[types.ManagedObjectReference]halfMade
}

// halfMade is an incomplete VM.
type halfMade struct {
	shows Making
	// task is the task of its clone, or nil after the clone has failed.
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

// fail marks the clone of a VM as failed. The VM stays.
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

// changing are the methods that change a VM or start from its state. Methods with true also work on the VM of a failed clone.
var changing = map[string]bool{
	"Destroy_Task": true, "UnregisterVM": true, "Rename_Task": true,
	"CloneVM_Task": false, "CreateSnapshot_Task": false, "MarkAsTemplate": false, "PowerOffVM_Task": false, "PowerOnVM_Task": false,
	"ReconfigVM_Task": false, "RelocateVM_Task": false, "ShutdownGuest": false,
}

// check refuses changes of an incomplete VM.
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

// filter removes the properties of incomplete VMs that clients cannot read.
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

// filtered returns an answer with filtered properties of incomplete VMs.
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
