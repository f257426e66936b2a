package vsphere

import "time"

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
