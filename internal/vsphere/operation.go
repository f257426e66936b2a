package vsphere

import (
	"context"
	"time"
)

// OperationKind names what was asked of vCenter.
type OperationKind string

// Operations.
const (
	OpClone         OperationKind = "Clone"
	OpPowerOn       OperationKind = "PowerOn"
	OpPowerOff      OperationKind = "PowerOff"
	OpShutdownGuest OperationKind = "ShutdownGuest"
	OpReconfigure   OperationKind = "Reconfigure"
	OpMark          OperationKind = "Mark"
	OpDestroy       OperationKind = "Destroy"
	OpRelease       OperationKind = "Release"
	OpRestamp       OperationKind = "Restamp"
	OpClaim         OperationKind = "Claim"
	OpMove          OperationKind = "Move"
	OpRename        OperationKind = "Rename"
	OpAdopt         OperationKind = "Adopt"
)

// Ends reports whether an operation is a step towards the end of a VM.
func (k OperationKind) Ends() bool {
	return k == OpMark || k == OpPowerOff || k == OpDestroy || k == OpRelease
}

// Operation is something that was submitted and is not visible yet.
type Operation struct {
	Kind    OperationKind
	Ordinal int32
	// VM is zero for a clone that has not finished, and for one that found its name taken by a VM that looks like
	// the wanted one: of a clone, it is only ever the VM that vCenter said this very task made.
	VM Ref
	// Since is when it was submitted.
	Since time.Time
	// Task is vCenter's reference of the task that runs; empty while, or once, none does.
	Task string
	// CanceledAt is when vCenter was last asked to cancel the task, zero if it never was. CancelErr is why it does not; nil once it agreed.
	CanceledAt time.Time
	CancelErr  error
	// OutcomeUnknown is true when the reply was lost, or another process submitted it: it may have reached
	// vCenter or not.
	OutcomeUnknown bool
}

// HangsAfter is how long a task may run before it is told of, and before the end of a VM does not wait for it any more. Clones of large templates take longer, and
// are told of all the same.
const HangsAfter = 2 * time.Minute

// Hangs reports whether the task of an operation has run for long.
func (o Operation) Hangs(now time.Time) bool { return o.Task != "" && now.Sub(o.Since) >= HangsAfter }

// Overtaken reports whether a step towards the end of the VM need not wait for an operation. A clone holds its name until it ends, and nothing follows a destruction.
func (o Operation) Overtaken(now time.Time) bool {
	switch o.Kind {
	case OpPowerOn, OpPowerOff, OpReconfigure, OpMark, OpRestamp:
		return o.Hangs(now)
	}
	return false
}

type operationKey struct{}

// WithOperation names what the calls under ctx are part of. The name reaches vCenter's own logs as opID, where a person
// can follow a group's pass from there; it holds nothing secret.
func WithOperation(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, operationKey{}, name)
}

// OperationOf returns the name given by WithOperation, or "".
func OperationOf(ctx context.Context) string {
	name, _ := ctx.Value(operationKey{}).(string)
	return name
}

// Failure is an operation that failed.
type Failure struct {
	Kind    OperationKind
	Ordinal int32
	VM      Ref
	// Err wraps *Error.
	Err error
	// At is when it failed, RetryAt the earliest time to try again.
	At, RetryAt time.Time
	// Count of failures in a row.
	Count int
	// Revision that a clone failed with, or a reconfiguration; another revision may be tried at once.
	Revision string
	// Met is what was known of the VM.
	Met Met
}

// Met is what an operation on a VM may be refused for as long as it lasts.
type Met struct {
	Power    PowerState
	Question string
}

// Met returns what an operation meets that is submitted now.
func (vm *VM) Met() Met { return Met{Power: vm.Power, Question: vm.Question} }

// Outdated reports whether a step towards the end of a VM that was refused as busy need not wait, because the VM is another since: its question was answered, or
// it was powered on or off.
func (f *Failure) Outdated(vm *VM) bool {
	return vm != nil && f.Kind.Ends() && KindOf(f.Err) == KindBusy && f.Met != vm.Met()
}
