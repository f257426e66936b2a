package plan

import (
	"slices"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// state is what is known of the VM of one ordinal.
type state int

const (
	// present: the VM is observed.
	present state = iota
	// suspect: recorded, not observed, and vCenter has not confirmed that it is gone.
	suspect
	// elsewhere: recorded, and it exists outside of the operator's root folder.
	elsewhere
	// gone: recorded, and vCenter confirmed that it does not exist.
	gone
	// cloning: a clone is in flight and its VM is not visible.
	cloning
	// adopting: another group's VM that is being taken over. It is not the group's yet, and not in vm.
	adopting
	// intended: a clone was decided on, and a complete observation shows neither VM nor operation.
	intended
)

// member is one ordinal of the group while the passes work on it.
type member struct {
	state  state
	status VMStatus
	// known is what status recorded, vm the genuine VM; either may be nil.
	known *Known
	vm    *vsphere.VM
	// candidate is the VM that is being taken over, or nil.
	candidate *Candidate
	// doomed members leave for good.
	doomed bool
	// leaves is why a doomed member is removed.
	leaves RemovalCause
	// awaits is true for a doomed member that is wanted again if a suspect VM turns out to be gone.
	awaits bool
	// kept members are gone or intended and keep ordinal and status although nothing is created for them.
	kept bool
	// dropped members leave the table.
	dropped bool
	// wasReady is true when the VM has passed its readiness gate before.
	wasReady bool
	// byFormerGate is true for a VM that would be available if spec had not got another gate since.
	byFormerGate bool
	// surge is true for a VM that an update has added to those that are wanted.
	surge bool
	// wrongPower is true when somebody else changed the power state and repair means to change it back.
	wrongPower bool
	// unstopped is true for a VM that status has as stopped for an update, and that is available: nothing was done to it, as far as anybody knows.
	unstopped bool
	// defies is true for a VM that was to be restarted, and whose guest was asked to shut down, had its time, and runs as before. spared is true while it is neither
	// powered off nor replaced, since too few others are available.
	defies, spared bool
	// changes is true when the update stops or changes the VM now, or has stopped it to change it: it is not powered on meanwhile.
	changes bool
}

// exists is true for a VM that is there as far as anybody knows. A suspect one does: unknown is not absent.
func (m *member) exists() bool {
	return m.state == present || m.state == suspect || m.state == elsewhere
}

// missing is true for an ordinal without a VM and without a clone on its way.
func (m *member) missing() bool { return m.state == gone || m.state == intended }

// operations indexes what is in flight and what failed by ordinal.
type operations struct {
	now      time.Time
	inFlight map[int32][]vsphere.Operation
	failures map[int32][]failure
	// guests are those that were asked to shut down.
	guests guests
	// halfMade are the VMs that a clone of another process may be making.
	halfMade map[int32]vsphere.HalfMade
}

func newOperations(in *Input, spec settings) operations {
	o := operations{
		now: in.Now, inFlight: map[int32][]vsphere.Operation{}, failures: map[int32][]failure{}, guests: guestsOf(in, spec),
		halfMade: halfMade(in),
	}
	for _, op := range in.Observation.InFlight {
		o.inFlight[op.Ordinal] = append(o.inFlight[op.Ordinal], op)
	}
	for _, f := range in.Observation.Failures {
		o.failures[f.Ordinal] = append(o.failures[f.Ordinal], explained(f, VMName(in.Name, f.Ordinal)))
	}
	return o
}

// cloneFailure is that of a clone of the revision. What another one failed with may have been the spec.
func (o operations) cloneFailure(ordinal int32, revision string) *failure {
	return o.worst(ordinal, func(f *failure) bool {
		return f.Kind == vsphere.OpClone && (f.Revision == "" || f.Revision == revision)
	})
}

// reconfigureFailure is that of a change to the revision.
func (o operations) reconfigureFailure(ordinal int32, revision string) *failure {
	return o.worst(ordinal, func(f *failure) bool {
		return f.Kind == vsphere.OpReconfigure && (f.Revision == "" || f.Revision == revision)
	})
}

// cloning is true while a clone of this ordinal is in flight, or may be.
func (o operations) cloning(ordinal int32) bool {
	_, half := o.halfMade[ordinal]
	return half || o.running(ordinal, vsphere.OpClone)
}

// made is true for a VM that a clone in flight of the ordinal made.
func (o operations) made(ordinal int32, moRef string) bool {
	return slices.ContainsFunc(o.inFlight[ordinal], func(op vsphere.Operation) bool {
		return op.Kind == vsphere.OpClone && op.VM.Value != "" && op.VM.Value == moRef
	})
}

// running is true while an operation of this kind is in flight.
func (o operations) running(ordinal int32, kind vsphere.OperationKind) bool {
	return slices.ContainsFunc(o.inFlight[ordinal], func(op vsphere.Operation) bool { return op.Kind == kind })
}

// busy is true while the ordinal may get no other operation. A guest that ignores its shutdown does not make
// the VM busy for ever.
func (o operations) busy(ordinal int32) bool {
	return slices.ContainsFunc(o.inFlight[ordinal], func(op vsphere.Operation) bool { return !o.overdue(op) })
}

// leaving is true while a step is in flight that a VM does not come back from.
func (o operations) leaving(ordinal int32) bool {
	return o.running(ordinal, vsphere.OpMark) || o.running(ordinal, vsphere.OpDestroy) || o.running(ordinal, vsphere.OpRelease)
}

// overdue is true for a guest shutdown that had its time.
func (o operations) overdue(op vsphere.Operation) bool {
	return op.Kind == vsphere.OpShutdownGuest && o.guests.overdue(o.guests.earliest(op))
}

// failure returns the failure of an operation that may be repeated last, or nil.
func (o operations) failure(ordinal int32, kind vsphere.OperationKind) *failure {
	return o.worst(ordinal, func(f *failure) bool { return f.Kind == kind })
}

func (o operations) worst(ordinal int32, is func(*failure) bool) *failure {
	var worst *failure
	for i := range o.failures[ordinal] {
		f := &o.failures[ordinal][i]
		if is(f) && (worst == nil || compareFailures(f, worst) > 0) {
			worst = f
		}
	}
	return worst
}

// nameHeld returns the failure that says that the name of this ordinal is taken by something that the
// observation does not show, while it is too early to try again.
func (o operations) nameHeld(ordinal int32) *failure {
	f := o.failure(ordinal, vsphere.OpClone)
	if f != nil && f.reason == v1alpha1.ReasonNameConflict && f.RetryAt.After(o.now) {
		return f
	}
	return nil
}
