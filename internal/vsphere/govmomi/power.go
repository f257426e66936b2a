package govmomi

import (
	"context"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// PowerOn submits a power-on: see vsphere.Server. It refuses a VM with a tombstone.
func (s *Server) PowerOn(ctx context.Context, t vsphere.Target) error {
	r, vm, err := s.target(vsphere.OpPowerOn, t)
	if err != nil {
		return err
	}
	if vm.Tombstone {
		return &vsphere.Error{Kind: vsphere.KindConflict, Op: phrase(r), Object: t.VM, Err: errDoomed}
	}
	r.Datacenter = s.placedBy(vm)
	return s.submit(ctx, r, "", func(ctx context.Context, c *connection) (types.ManagedObjectReference, error) {
		if !r.Datacenter.IsZero() {
			task, err := powerOnPlaced(ctx, c, r.Datacenter, t.VM)
			if !refusesPlacing(err, r.Datacenter) {
				return task, err
			}
			s.withoutPlacing(err)
		}
		resp, err := methods.PowerOnVM_Task(ctx, c.client, &types.PowerOnVM_Task{This: toRef(t.VM)})
		if err != nil {
			return types.ManagedObjectReference{}, err
		}
		return resp.Returnval, nil
	})
}

// PowerOff submits a power-off: see vsphere.Server. It overtakes a guest shutdown.
func (s *Server) PowerOff(ctx context.Context, t vsphere.Target) error {
	r, _, err := s.target(vsphere.OpPowerOff, t)
	if err != nil {
		return err
	}
	return s.submit(ctx, r, "", func(ctx context.Context, c *connection) (types.ManagedObjectReference, error) {
		resp, err := methods.PowerOffVM_Task(ctx, c.client, &types.PowerOffVM_Task{This: toRef(t.VM)})
		if err != nil {
			return types.ManagedObjectReference{}, err
		}
		return resp.Returnval, nil
	})
}

// ShutdownGuest asks the guest to shut down: see vsphere.Server. There is no task. The operation stays in flight until
// the VM is off, or fails after its time limit.
func (s *Server) ShutdownGuest(ctx context.Context, t vsphere.Target) error {
	r, _, err := s.target(vsphere.OpShutdownGuest, t)
	if err != nil {
		return err
	}
	r.Within = t.Within
	c, err := s.live(phrase(r))
	if err != nil {
		return err
	}
	handle, err := s.ops.Begin(r)
	if err != nil {
		return err
	}
	began := s.index.Begin()
	if _, err := methods.ShutdownGuest(ctx, c.client, &types.ShutdownGuest{This: toRef(t.VM)}); err != nil {
		return s.refused(ctx, c, handle, r, began, "", translateFor(r, err), err)
	}
	// The shutdown runs no task in vCenter, so the reserved slot is free again at once.
	s.budget.Start(string(r.Group), "")(true)
	handle.Finished(uint64(s.index.Begin()))
	kick(s.taskKick)
	return nil
}
