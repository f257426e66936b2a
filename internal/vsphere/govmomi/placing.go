package govmomi

import (
	"context"
	"errors"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/operations"
)

var errRecommended = errors.New("DRS does not power the VM on automatically, and recommends how to: apply its recommendation in the vSphere Client " +
	"(Monitor, vSphere DRS, Recommendations of the cluster), or set DRS to partially or fully automated")

// placedBy returns the datacenter through which to power on a VM, so that DRS chooses its host. If DRS is off or its state is unknown, it returns the zero Ref.
// It uses only data that was read before.
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

// powerOnPlaced makes DRS choose a host for a VM and power it on. It overrides manual DRS, which would only recommend a host that no user applies.
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

// refusesPlacing reports whether the account lacks a privilege on the datacenter, for example because its role is on the root folder. Such an account can still
// power on the VM itself.
func refusesPlacing(err error, datacenter vsphere.Ref) bool {
	f, ok := is[types.BaseNoPermission](err)
	if !ok || !denies(err) {
		return false
	}
	on := f.GetNoPermission().Object
	return on != nil && fromRef(*on) == datacenter
}

// withoutPlacing disables power-on through DRS until the next connection, so that a missing privilege costs the better host but not the VM.
func (s *Server) withoutPlacing(err error) {
	s.mu.Lock()
	was := s.state.privileges.noPlacing
	s.state.privileges.noPlacing = true
	s.mu.Unlock()
	if !was {
		s.log.Error(err, "The account may not power on VMs through the datacenter: they are powered on one by one")
	}
}

// placement is the result of a request to place VMs.
type placement struct {
	// next are the tasks that power VMs on. The value is empty for a VM whose task vCenter does not name.
	next map[vsphere.Ref]string
	// refused are the reasons why VMs are not powered on.
	refused map[vsphere.Ref]error
	// recommended is true if a recommendation waits for a user.
	recommended bool
}

// placementOf returns the result of a task if the task placed VMs.
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

// fate returns the reason why a VM is not powered on, or nil if the power-on can still continue.
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

// placed handles an ended task that placed VMs. Other tasks power them on. op is the operation of this process that the task belongs to, if any. placed returns
// the same values as ended.
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
	s.ops.TaskLost(id, at) // the VM's tasks are searched for a task that vCenter does not mention
	return vsphere.Ref{}, false
}
