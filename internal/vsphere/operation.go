package vsphere

import (
	"context"
	"time"
)

// OperationKind names a kind of vCenter operation.
type OperationKind string

// Operations.
const (
	OpClone         OperationKind = "Clone"
	OpPowerOn       OperationKind = "PowerOn"
	OpPowerOff      OperationKind = "PowerOff"
	OpShutdownGuest OperationKind = "ShutdownGuest"
	OpReconfigure   OperationKind = "Reconfigure"
	OpIdentify      OperationKind = "Identify"
	OpMark          OperationKind = "Mark"
	OpDestroy       OperationKind = "Destroy"
	OpRelease       OperationKind = "Release"
	OpRestamp       OperationKind = "Restamp"
	OpClaim         OperationKind = "Claim"
	OpMove          OperationKind = "Move"
	OpRename        OperationKind = "Rename"
	OpAdopt         OperationKind = "Adopt"
)

// Ends reports whether an operation is a step towards removing a VM from its group.
func (k OperationKind) Ends() bool {
	return k == OpMark || k == OpPowerOff || k == OpDestroy || k == OpRelease
}

// Operation is a submitted operation without a visible effect yet.
type Operation struct {
	Kind    OperationKind
	Ordinal int32
	// VM is zero for a clone that has not finished. It is also zero for a clone whose name is taken by a VM that resembles the wanted one. For a clone, VM is only
	// ever the VM that vCenter reports as the result of this task.
	VM Ref
	// Since is the submission time.
	Since time.Time
	// Task is vCenter's reference of the running task. It is empty while no task runs.
	Task string
	// CanceledAt is the time of the last cancel request to vCenter, or zero. CancelErr is vCenter's refusal, or nil after it agreed.
	CanceledAt time.Time
	CancelErr  error
	// OutcomeUnknown is true if the reply was lost or another process submitted the operation. The request can have reached vCenter or not.
	OutcomeUnknown bool
}

// HangsAfter is the runtime after which a task is reported, and after which removing a VM no longer waits for it. Clones of large templates take longer and are
// reported too.
const HangsAfter = 2 * time.Minute

// Hangs reports whether the operation's task has run for at least HangsAfter.
func (o Operation) Hangs(now time.Time) bool { return o.Task != "" && now.Sub(o.Since) >= HangsAfter }

// Overtaken reports whether a removal step need not wait for the operation. A clone holds its name until it ends, and nothing follows a destruction.
func (o Operation) Overtaken(now time.Time) bool {
	switch o.Kind {
	case OpPowerOn, OpPowerOff, OpReconfigure, OpIdentify, OpMark, OpRestamp:
		return o.Hangs(now)
	}
	return false
}

type operationKey struct{}

// WithOperation names the operation that the calls under ctx belong to. vCenter logs the name as opID, so that a user can follow a group's pass there. The name
// contains no secret.
func WithOperation(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, operationKey{}, name)
}

// OperationOf returns the name from WithOperation, or "".
func OperationOf(ctx context.Context) string {
	name, _ := ctx.Value(operationKey{}).(string)
	return name
}

// Failure is a failed operation.
type Failure struct {
	Kind    OperationKind
	Ordinal int32
	VM      Ref
	// Err wraps *Error.
	Err error
	// At is the time of the failure, and RetryAt the earliest time of a retry.
	At, RetryAt time.Time
	// Count of consecutive failures.
	Count int
	// Revision of the failed clone or reconfiguration. Another revision can be tried immediately.
	Revision string
	// Met is the known state of the VM at the failure.
	Met Met
}

// Met is the state of a VM that can make vCenter refuse an operation while the state lasts.
type Met struct {
	Power    PowerState
	Question string
}

// Met returns the state that a new operation would meet.
func (vm *VM) Met() Met { return Met{Power: vm.Power, Question: vm.Question} }

// Outdated reports whether a removal step that was refused as busy can be retried now, because the VM changed since: its question was answered, or its power
// state changed.
func (f *Failure) Outdated(vm *VM) bool {
	return vm != nil && f.Kind.Ends() && KindOf(f.Err) == KindBusy && f.Met != vm.Met()
}
