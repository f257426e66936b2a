package govmomi

import (
	"context"
	"errors"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/operations"
)

var errRecommended = errors.New("DRS does not power the VM on by itself, and recommends how to: apply its recommendation in the vSphere Client " +
	"(Monitor, vSphere DRS, Recommendations of the cluster), or set DRS to partially or fully automated")

// placedBy returns the datacenter through which a VM is powered on, so that DRS chooses its host: the zero Ref where DRS is off, and where nobody knows. All
// of it was read before.
func (s *Server) placedBy(vm vsphere.VM) vsphere.Ref {
	s.mu.Lock()
	refused := s.state.privileges.noPlacing
	s.mu.Unlock()
	got := s.cat.get()
	if refused || got == nil {
		return vsphere.Ref{}
	}
	for _, p := range got.pools {
		if p.ref == vm.ResourcePool && got.computes[p.compute].drs {
			return got.datacenter
		}
	}
	return vsphere.Ref{}
}

// powerOnPlaced has DRS choose a host for a VM and power it on. In a cluster whose DRS is set to manual it would only recommend a host; nobody waits there to apply that.
func powerOnPlaced(ctx context.Context, c *connection, datacenter, vm vsphere.Ref) (types.ManagedObjectReference, error) {
	resp, err := methods.PowerOnMultiVM_Task(ctx, c.client, &types.PowerOnMultiVM_Task{
		This: toRef(datacenter), Vm: []types.ManagedObjectReference{toRef(vm)},
		Option: []types.BaseOptionValue{&types.OptionValue{
			Key: string(types.ClusterPowerOnVmOptionOverrideAutomationLevel), Value: string(types.DrsBehaviorFullyAutomated),
		}},
	})
	if err != nil {
		return types.ManagedObjectReference{}, err
	}
	return resp.Returnval, nil
}

// refusesPlacing reports whether the account lacks a privilege on the datacenter, as one may whose role is on the root folder. It is enough to power on the VM itself.
func refusesPlacing(err error, datacenter vsphere.Ref) bool {
	f, ok := is[types.BaseNoPermission](err)
	if !ok || !denies(err) {
		return false
	}
	on := f.GetNoPermission().Object
	return on != nil && fromRef(*on) == datacenter
}

// withoutPlacing powers VMs on without DRS until the next connection: nobody goes without a VM for the lack of the better host.
func (s *Server) withoutPlacing(err error) {
	s.mu.Lock()
	was := s.state.privileges.noPlacing
	s.state.privileges.noPlacing = true
	s.mu.Unlock()
	if !was {
		s.log.Error(err, "The account may not power on VMs through the datacenter: they are powered on one by one")
	}
}

// placement is what came of a request to place VMs.
type placement struct {
	// next are the tasks that power VMs on: empty for a VM whose task vCenter does not name.
	next map[vsphere.Ref]string
	// refused are why VMs are not powered on.
	refused map[vsphere.Ref]error
	// recommended is true if something waits for a person.
	recommended bool
}

// placementOf reads the result of a task, if it is that of such a request.
func placementOf(o object) (out placement, ok bool) {
	var result types.ClusterPowerOnVmResult
	switch r := o.values[taskResult].(type) {
	case types.ClusterPowerOnVmResult:
		result = r
	case *types.ClusterPowerOnVmResult:
		result = *r
	default:
		return out, false
	}
	out = placement{next: map[vsphere.Ref]string{}, refused: map[vsphere.Ref]error{}, recommended: len(result.Recommendations) > 0}
	for _, a := range result.Attempted {
		task := ""
		if a.Task != nil {
			task = a.Task.Value
		}
		out.next[fromRef(a.Vm)] = task
	}
	for i := range result.NotAttempted {
		n := &result.NotAttempted[i]
		out.refused[fromRef(n.Vm)] = taskError{&n.Fault}
	}
	return out, true
}

// fate says why a VM is not powered on, or is nil if that may still go on.
func (p placement) fate(vm vsphere.Ref) error {
	if _, goesOn := p.next[vm]; goesOn {
		return nil
	}
	if err := p.refused[vm]; err != nil {
		return err
	}
	if p.recommended {
		return &vsphere.Error{Kind: vsphere.KindCapacity, Err: errRecommended}
	}
	return nil
}

// placed handles a task that ended after it had placed VMs. What powers them on are other tasks. op is the operation of this process that it belongs to, if
// any. It returns what ended does.
func (w *taskWatch) placed(ctx context.Context, id string, op operations.Request, p placement) (vsphere.Ref, bool) {
	s := w.server
	at := uint64(s.index.Begin())
	if err := p.fate(op.VM); err != nil && !op.VM.IsZero() {
		return w.failed(ctx, id, op, err)
	}
	s.ops.Continues(id, p.next, at)
	if next := p.next[op.VM]; next != "" {
		w.polled[next] = w.last // it has just begun
		return vsphere.Ref{}, false
	}
	s.ops.TaskLost(id, at) // what vCenter does not mention is looked for among the tasks of the VM
	return vsphere.Ref{}, false
}
