package govmomi

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/operations"
)

var (
	errNotMarked = errors.New("the VM carries no tombstone; it must be marked before it is destroyed")
	errTemplate  = errors.New("the VM was converted to a template; convert it back to a virtual machine")
	errOn        = errors.New("the VM is running; it must be powered off before it is destroyed")
)

// Mark writes the tombstone: see vsphere.Server.
func (s *Server) Mark(ctx context.Context, t vsphere.Target) error {
	r, _, err := s.target(vsphere.OpMark, t)
	if err != nil {
		return err
	}
	now := s.cfg.Now().UTC().Format("2006-01-02T15:04:05Z")
	return s.reconfigure(ctx, r, t, []inventory.KV{{Key: inventory.KeyTombstone, Value: now}})
}

// Release replaces the stamp with a release mark: see vsphere.Server.
func (s *Server) Release(ctx context.Context, t vsphere.Target) error {
	r, vm, err := s.target(vsphere.OpRelease, t)
	if vsphere.KindOf(err) == vsphere.KindNotFound || vm.Released.Of(t) {
		return nil
	}
	if err != nil {
		return err
	}
	keys, err := inventory.EncodeRelease(vsphere.ReleaseMark{GroupID: t.ID, Namespace: t.Namespace, Ordinal: t.Ordinal, Revision: vm.Stamp.Revision, UUID: vm.Stamp.UUID})
	if err != nil {
		return &vsphere.Error{Kind: vsphere.KindSpec, Op: phrase(r), Object: t.VM, Err: err}
	}
	return s.reconfigure(ctx, r, t, keys)
}

// Restamp replaces the installation in the stamp: see vsphere.Server.
func (s *Server) Restamp(ctx context.Context, t vsphere.Target, installation string) error {
	r, vm, err := s.target(vsphere.OpRestamp, t)
	if err != nil {
		return err
	}
	stamp := *vm.Stamp
	stamp.Installation = installation
	keys, err := inventory.EncodeStamp(stamp)
	if err != nil {
		return &vsphere.Error{Kind: vsphere.KindSpec, Op: phrase(r), Object: t.VM, Err: err}
	}
	r.Stamp.Installation = installation
	owner := slices.DeleteFunc(keys, func(kv inventory.KV) bool { return kv.Key != inventory.KeyOwner })
	return s.reconfigure(ctx, r, t, owner)
}

// reconfigure changes extraConfig if the VM still has the observed change version.
func (s *Server) reconfigure(ctx context.Context, r operations.Request, t vsphere.Target, keys []inventory.KV) error {
	return s.submit(ctx, r, "", func(ctx context.Context, c *connection) (types.ManagedObjectReference, error) {
		return writeKeys(ctx, c, t.VM, t.ChangeVersion, keys)
	})
}

// writeKeys starts a task that changes extraConfig if the VM's configuration still has the change version.
func writeKeys(ctx context.Context, c *connection, vm vsphere.Ref, changeVersion string, keys []inventory.KV) (types.ManagedObjectReference, error) {
	resp, err := methods.ReconfigVM_Task(ctx, c.client, &types.ReconfigVM_Task{
		This: toRef(vm), Spec: types.VirtualMachineConfigSpec{ChangeVersion: changeVersion, ExtraConfig: extraConfig(keys)},
	})
	if err != nil {
		return types.ManagedObjectReference{}, err
	}
	return resp.Returnval, nil
}

// Destroy submits a VM's destruction after a fresh read: the VM must be the group's, marked, off, below the root folder, and without
// foreign disks. See vsphere.Server. vCenter has no conditional destroy, so a user's change between the read and the call is not detected.
func (s *Server) Destroy(ctx context.Context, t vsphere.Target) error {
	r := operations.Request{
		Key: operations.Key{Group: t.ID.Key(), Ordinal: t.Ordinal}, Kind: vsphere.OpDestroy, VM: t.VM,
	}
	if vm, state := s.index.VM(t.VM); state == inventory.Gone {
		return nil
	} else if vm.Stamp != nil {
		r.Name, r.Stamp.Revision, r.Met = vm.Name, vm.Stamp.Revision, vm.Met()
	}
	return s.submit(ctx, r, "", func(ctx context.Context, c *connection) (types.ManagedObjectReference, error) {
		if err := s.mayDestroy(ctx, c, r, t); err != nil {
			return types.ManagedObjectReference{}, err
		}
		s.index.Leaving(t.VM)
		resp, err := methods.Destroy_Task(ctx, c.client, &types.Destroy_Task{This: toRef(t.VM)})
		if err != nil {
			return types.ManagedObjectReference{}, err
		}
		return resp.Returnval, nil
	})
}

func (s *Server) mayDestroy(ctx context.Context, c *connection, r operations.Request, t vsphere.Target) error {
	if err := vsphere.CheckFence(ctx); err != nil {
		return err
	}
	o, err := exact(ctx, c.client, t.VM, slices.Concat([]string{propName, propParent, propPower, propTemplate, propDevices, extraConfigPath(inventory.KeyDisks)}, stampProperties)...)
	if err != nil {
		return readOnlyError(err)
	}
	refuse := func(kind vsphere.Kind, cause error) error {
		return &vsphere.Error{Kind: kind, Op: phrase(r), Object: t.VM, Err: cause}
	}
	values, err := stampValues(o)
	if err != nil {
		return refuse(vsphere.KindTransient, err)
	}
	stamp, tombstone := inventory.DecodeStamp(values)
	switch {
	case stamp == nil || stamp.GroupID != t.ID || stamp.Ordinal != t.Ordinal:
		return refuse(vsphere.KindForeign, errNotOurs)
	case !tombstone:
		return refuse(vsphere.KindForeign, errNotMarked)
	case o.yes(propTemplate):
		return refuse(vsphere.KindBusy, errTemplate)
	case power(o.text(propPower)) == vsphere.PoweredOn:
		return refuse(vsphere.KindBusy, errOn)
	}
	parent := o.refOf(propParent)
	folder, known := s.index.Folder(parent)
	if !known {
		inside, err := s.belowRoot(ctx, c, parent)
		if err != nil {
			return readOnlyError(err)
		}
		if !inside {
			return refuse(vsphere.KindForeign, fmt.Errorf("the VM was moved out of %s", c.root.Path))
		}
	}
	path := o.text(propName)
	if folder.Path != "" {
		path = folder.Path + "/" + path
	}
	return holdForDisks(o, path, t, refuse)
}

// readOnlyError marks the error of a read before a change: whatever its result, nothing was changed.
func readOnlyError(err error) error {
	if isFault(err) {
		return err
	}
	e := translate("read before changing", err)
	var known *vsphere.Error
	if asError(e, &known) {
		known.OutcomeUnknown = false
	}
	return e
}
