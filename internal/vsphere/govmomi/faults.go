package govmomi

import (
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/operations"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/session"
)

// taskError is the error of a task that failed.
type taskError struct{ fault *types.LocalizedMethodFault }

func (e taskError) Error() string {
	return faultText(e.fault.Fault, e.fault.LocalizedMessage)
}

// Fault makes the fault available to govmomi's fault package.
func (e taskError) Fault() types.BaseMethodFault { return e.fault.Fault }

// translate turns an error of govmomi into a *vsphere.Error. op is the attempted operation, as a phrase.
func translate(op string, err error) error {
	if err == nil {
		return nil
	}
	var known *vsphere.Error
	if errors.As(err, &known) {
		if known.Op == op {
			return err
		}
		out := *known
		out.Op, out.Err = op, err
		return &out
	}
	out := &vsphere.Error{Kind: vsphere.KindTransient, Op: op, Err: inWords(err)}
	if !isFault(err) {
		if session.IsCertificate(err) {
			out.Kind = vsphere.KindCertificate
		} else {
			out.OutcomeUnknown = !notSent(err)
		}
		return out
	}
	classify(err, out)
	return out
}

// isFault reports whether the server answered. A refused request had no effect.
func isFault(err error) bool {
	var task taskError
	return errors.As(err, &task) || session.IsFault(err)
}

// notSent reports whether the request certainly did not leave this process.
func notSent(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	return (errors.As(err, &op) && op.Op == "dial") || errors.As(err, &dns)
}

// is reports whether err is, or is caused by, the fault type T, which can be a Base interface of govmomi.
func is[T any](err error) (T, bool) {
	var target T
	_, ok := fault.As(err, &target)
	return target, ok
}

func has[T any](err error) bool {
	_, ok := is[T](err)
	return ok
}

// denies reports whether the account lacks a permission. The fault of an ended session belongs to the same family, but says nothing about the account.
func denies(err error) bool {
	return has[types.BaseNoPermission](err) && !has[*types.NotAuthenticated](err)
}

// class is one row of the translation. The first match wins, so the order matters: NotAuthenticated is a NoPermission, and InvalidPowerState an InvalidState.
type class struct {
	kind    vsphere.Kind
	matches func(error) bool
}

var classes = []class{
	{vsphere.KindTransient, has[*types.NotAuthenticated]},
	{vsphere.KindCredentials, has[types.BaseInvalidLogin]},
	{vsphere.KindPermission, has[types.BaseNoPermission]},
	{vsphere.KindNameTaken, has[*types.DuplicateName]},
	{vsphere.KindNameTaken, has[*types.AlreadyExists]},
	{vsphere.KindNotFound, has[*types.ManagedObjectNotFound]},

	{vsphere.KindCapacity, has[types.BaseInsufficientResourcesFault]},
	{vsphere.KindCapacity, has[*types.NoDiskSpace]},
	{vsphere.KindCapacity, has[*types.NoCompatibleHost]},
	{vsphere.KindCapacity, has[*types.GenericDrsFault]},
	{vsphere.KindCapacity, has[types.BaseCannotAccessVmComponent]},

	{vsphere.KindTransient, has[types.BaseHostCommunication]},
	{vsphere.KindTransient, has[types.BaseHostConnectFault]},
	{vsphere.KindTransient, has[*types.InaccessibleDatastore]},
	{vsphere.KindTransient, has[types.BaseTimedout]},

	{vsphere.KindBusy, has[types.BaseTaskInProgress]},
	{vsphere.KindBusy, has[*types.ConcurrentAccess]},
	{vsphere.KindBusy, has[types.BaseResourceInUse]},
	{vsphere.KindBusy, has[types.BaseInvalidState]},
	{vsphere.KindBusy, has[*types.MethodDisabled]},
	{vsphere.KindBusy, has[*types.QuestionPending]},
	{vsphere.KindBusy, has[*types.FileLocked]},
	{vsphere.KindBusy, has[*types.TooManyConcurrentNativeClones]},

	{vsphere.KindOffOnly, has[*types.CpuHotPlugNotSupported]},
	{vsphere.KindOffOnly, has[*types.MemoryHotPlugNotSupported]},

	{vsphere.KindSpec, has[types.BaseInvalidArgument]},
	{vsphere.KindSpec, has[types.BaseVmConfigFault]},
	{vsphere.KindSpec, has[types.BaseNotSupported]},
	{vsphere.KindSpec, has[types.BaseCustomizationFault]},
	{vsphere.KindSpec, has[*types.InvalidName]},
	{vsphere.KindSpec, has[types.BaseNotEnoughLicenses]},
	{vsphere.KindSpec, has[types.BaseInvalidDatastore]},
}

func classify(err error, out *vsphere.Error) {
	for _, c := range classes {
		if c.matches(err) {
			out.Kind = c.kind
			break
		}
	}
	switch out.Kind {
	case vsphere.KindPermission:
		if f, ok := is[types.BaseNoPermission](err); ok {
			p := f.GetNoPermission()
			if out.Privilege = p.PrivilegeId; out.Privilege != "" {
				out.Err = fmt.Errorf("%w: %s%s", out.Err, out.Privilege, neededFor[out.Privilege])
			}
			if p.Object != nil {
				out.Object = fromRef(*p.Object)
			}
		}
	case vsphere.KindNameTaken:
		if f, ok := is[*types.DuplicateName](err); ok {
			out.Object = fromRef(f.Object)
		}
	case vsphere.KindNotFound:
		if f, ok := is[*types.ManagedObjectNotFound](err); ok {
			out.Object = fromRef(f.Obj)
		}
	case vsphere.KindCapacity:
		if f, ok := is[*types.NoCompatibleHost](err); ok {
			out.Err = withCauses(out.Err, f.Error)
		}
		if f, ok := is[*types.GenericDrsFault](err); ok {
			out.Err = withCauses(out.Err, f.HostFaults)
		}
	}
}

// neededFor holds the purpose of privileges that only some templates need.
var neededFor = map[string]string{
	vsphere.PrivilegeCrypto: " (the template is encrypted, as each one with a virtual TPM)",
	vsphere.PrivilegeVApp:   " (the template has vApp properties, with which its guests ignore user data and metadata)",
}

// withCauses adds the reason of each host's refusal: NoCompatibleHost and GenericDrsFault omit the reasons from their messages.
func withCauses(err error, causes []types.LocalizedMethodFault) error {
	for i := range causes {
		err = fmt.Errorf("%w; %s", err, taskError{&causes[i]}.Error())
	}
	return err
}

// alreadyThere reports whether vCenter refused a power operation because the VM is in the wanted state.
func alreadyThere(kind vsphere.OperationKind, err error) bool {
	f, ok := is[*types.InvalidPowerState](err)
	return ok && kind != vsphere.OpReconfigure && f.RequestedState != "" && f.RequestedState == f.ExistingState
}

// notFound reports whether vCenter confirmed that exactly this object does not exist.
func notFound(err error, ref vsphere.Ref) bool {
	f, ok := is[*types.ManagedObjectNotFound](err)
	return ok && fromRef(f.Obj) == ref
}

// translateFor is translate for an operation. If a configuration change names its base version and the VM changed since, vCenter returns ConcurrentAccess.
// That error is a conflict that needs a new decision, not a busy object.
func translateFor(r operations.Request, err error) error {
	out := translate(phrase(r), err)
	var e *vsphere.Error
	switch {
	case slices.Contains(onVersion, r.Kind) && has[*types.ConcurrentAccess](err) && asError(out, &e):
		e.Kind = vsphere.KindConflict
	case r.Kind == vsphere.OpReconfigure && has[*types.InvalidPowerState](err) && asError(out, &e):
		e.Kind = vsphere.KindOffOnly
	case r.Kind == vsphere.OpPowerOn && has[*types.GenericVmConfigFault](err) && asError(out, &e):
		e.Kind = vsphere.KindTransient // a host also returns this for locked files and for lack of memory
	}
	return out
}

// onVersion are the operations that name the configuration version that they are based on.
var onVersion = []vsphere.OperationKind{
	vsphere.OpMark, vsphere.OpRelease, vsphere.OpRestamp, vsphere.OpAdopt, vsphere.OpClaim, vsphere.OpReconfigure, vsphere.OpIdentify,
}
