package govmomi

import (
	"context"
	"errors"
	"fmt"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/operations"
)

var (
	errNotOurs = errors.New("the VM does not carry the group's stamp for this ordinal; it is left alone")
	errDoomed  = errors.New("the VM is marked for destruction and is never revived")
	// errDone reports that, according to a read before the change, nothing is left to do.
	errDone = errors.New("it is done already")
)

func asError(err error, target **vsphere.Error) bool { return errors.As(err, target) }

// phrase describes an operation: "clone vg-1-0".
func phrase(r operations.Request) string {
	name := r.Name
	if name == "" {
		name = r.VM.String()
	}
	switch r.Kind {
	case vsphere.OpClone:
		return "clone " + name
	case vsphere.OpPowerOn:
		return "power on " + name
	case vsphere.OpPowerOff:
		return "power off " + name
	case vsphere.OpShutdownGuest:
		return "shut down the guest of " + name
	case vsphere.OpReconfigure:
		return "reconfigure " + name
	case vsphere.OpIdentify:
		return "record the data disks of " + name
	case vsphere.OpMark:
		return "mark " + name
	case vsphere.OpDestroy:
		return "destroy " + name
	case vsphere.OpRelease:
		return "release " + name
	case vsphere.OpRestamp:
		return "stamp anew " + name
	case vsphere.OpClaim:
		return "claim " + r.VM.String() + " to adopt it as " + name
	case vsphere.OpMove:
		return "move " + r.VM.String() + " into the group's folder to adopt it as " + name
	case vsphere.OpRename:
		return "rename " + r.VM.String() + " to " + name
	case vsphere.OpAdopt:
		return "adopt " + r.VM.String() + " as " + name
	}
	return string(r.Kind) + " " + name
}

// call is a request that starts a task.
type call func(ctx context.Context, c *connection) (types.ManagedObjectReference, error)

// submit registers an operation, sends its request and stores the answer. host is the template's host for a clone.
func (s *Server) submit(ctx context.Context, r operations.Request, host string, send call) error {
	op := phrase(r)
	c, err := s.live(op)
	if err != nil {
		return err
	}
	handle, err := s.ops.Begin(r)
	if err != nil {
		return err
	}
	began := s.index.Begin()
	task, err := send(ctx, c)
	if err == nil {
		// The slot is taken before the end of the task can be seen.
		handle.Accepted(task.Value, s.budget.Start(string(r.Group), host))
		kick(s.taskKick)
		return nil
	}
	return s.refused(ctx, c, handle, r, began, host, translateFor(r, err), err)
}

// refused stores the answer of a request that started no task, and returns the error for the caller.
func (s *Server) refused(ctx context.Context, c *connection, h *operations.Handle, r operations.Request, began inventory.Moment, host string, err, cause error) error {
	switch {
	case errors.Is(cause, errDone) && r.Kind == vsphere.OpReconfigure:
		h.Withdraw() // no observation might show the effect
		s.readAgain(r.VM)
		return nil
	case errors.Is(cause, errDone):
		h.Finished(uint64(s.index.Begin()))
		s.readAgain(r.VM)
		return nil
	case vsphere.IsOutcomeUnknown(err):
		// This is no error of the operation: its result will become visible.
		s.log.Info("The reply of vCenter was lost; its tasks and VMs will show the outcome", "operation", phrase(r), "cause", err.Error())
		h.Unknown(s.budget.Start(string(r.Group), host))
		kick(s.taskKick)
		return nil
	case vsphere.KindOf(err) == vsphere.KindFenced, vsphere.KindOf(err) == vsphere.KindCredentials:
		h.Withdraw()
		return err
	case alreadyThere(r.Kind, cause):
		h.Finished(uint64(s.index.Begin()))
		s.readAgain(r.VM)
		return nil
	case !r.VM.IsZero() && notFound(cause, r.VM):
		s.index.Confirm(began, r.VM, inventory.Gone)
		if r.Kind == vsphere.OpDestroy || r.Kind == vsphere.OpRelease {
			h.Withdraw()
			return nil
		}
	}
	s.lost(err)
	err = s.undecided(ctx, c, r, err)
	h.Failed(err)
	return err
}

// lost makes a suspect of an object that vCenter reported as missing during an operation on something else. If vCenter
// refused a note, lost also disables notes.
func (s *Server) lost(err error) {
	if lacks(err, vsphere.PrivilegeNotes) {
		s.withoutNotes()
	}
	ref := objectOf(err)
	if vsphere.KindOf(err) == vsphere.KindNotFound && (ref.Type == vsphere.TypeFolder || ref.Type == vsphere.TypeVirtualMachine) {
		s.index.Left(ref)
		s.wanted([]vsphere.Ref{ref})
	}
}

// target checks a target against the inventory: the operator changes only VMs that carry the group's stamp.
func (s *Server) target(kind vsphere.OperationKind, t vsphere.Target) (operations.Request, vsphere.VM, error) {
	vm, state := s.index.VM(t.VM)
	r := operations.Request{
		Key: operations.Key{Group: t.ID.Key(), Ordinal: t.Ordinal}, Kind: kind, VM: t.VM, Name: vm.Name,
	}
	fail := func(k vsphere.Kind, cause error) error {
		return &vsphere.Error{Kind: k, Op: phrase(r), Object: t.VM, Err: cause}
	}
	switch {
	case state == inventory.Gone:
		return r, vm, fail(vsphere.KindNotFound, fmt.Errorf("the VM %s does not exist any more", t.VM))
	case state != inventory.Present:
		return r, vm, fail(vsphere.KindTransient, fmt.Errorf("the VM %s is not in the inventory; it is being looked up", t.VM))
	case vm.Stamp == nil || vm.Stamp.GroupID != t.ID || vm.Stamp.Ordinal != t.Ordinal:
		return r, vm, fail(vsphere.KindForeign, errNotOurs)
	}
	r.Stamp.Revision, r.Met = vm.Stamp.Revision, vm.Met()
	s.acts(t.VM)
	return r, vm, nil
}
