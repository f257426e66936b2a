package plan

import (
	"slices"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// state is the knowledge about the VM of one ordinal.
type state int

const (
	// present: the VM is observed.
	present state = iota
	// suspect: recorded, not observed, and vCenter has not confirmed its deletion.
	suspect
	// elsewhere: recorded, and it exists outside of the operator's root folder.
	elsewhere
	// gone: recorded, and vCenter confirmed that it does not exist.
	gone
	// cloning: a clone is in flight and its VM is not visible.
	cloning
	// adopting: another group's VM that is being adopted. It is not the group's yet, and not in member.vm.
	adopting
	// intended: a clone was planned, and a complete observation shows neither VM nor operation.
	intended
)

// member is one ordinal of the group while the passes run.
type member struct {
	state  state
	status VMStatus
	// known is the record in status, vm the genuine VM. Either can be nil.
	known *Known
	vm    *vsphere.VM
	// candidate is the VM that is being adopted, or nil.
	candidate *Candidate
	// doomed members leave for good.
	doomed bool
	// leaves is why a doomed member is removed.
	leaves RemovalCause
	// awaits is true for a doomed member that is wanted again if a suspect VM turns out to be deleted.
	awaits bool
	// kept members are deleted or intended and keep ordinal and status although no VM is created for them. dropped members leave the table.
	kept, dropped bool
	// wasReady is true if the VM has passed its readiness gate before.
	wasReady bool
	// byFormerGate is true for a VM that would be available if spec had not got another gate since.
	byFormerGate bool
	// mayFollow is true for a VM that would be available if its guest could not still follow an earlier request to shut down.
	mayFollow bool
	// surge is true for a VM that an update added above the wanted number.
	surge bool
	// wrongPower is true if the power state was changed from outside and a repair would change it back.
	wrongPower bool
	// unstopped is true for an available VM that status records as stopped for an update. As far as is known, no stop was begun.
	unstopped bool
	// defies is true for a VM that an update restarts and whose guest still runs after its shutdown timeout. spared is true while that VM is neither powered off nor replaced,
	// because too few others are available.
	defies, spared bool
	// changes is true if the update stops or changes the VM now, or has stopped it to change it. Meanwhile the VM is not powered on.
	changes bool
}

// exists is true for a VM that exists as far as is known, including a suspect VM: unknown is not absent.
func (m *member) exists() bool {
	return m.state == present || m.state == suspect || m.state == elsewhere
}

// missing is true for an ordinal without a VM and without a clone in flight.
func (m *member) missing() bool { return m.state == gone || m.state == intended }

// operations indexes operations in flight and failures by ordinal.
type operations struct {
	now      time.Time
	inFlight map[int32][]vsphere.Operation
	failures map[int32][]failure
	// guests are those that were asked to shut down.
	guests guests
	// halfMade are the VMs that a clone of another process is possibly making.
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

// cloneFailure returns the failure of a clone of the revision. The clone of another revision can have failed because of its spec.
func (o operations) cloneFailure(ordinal int32, revision string) *failure {
	return o.worst(ordinal, func(f *failure) bool {
		return f.Kind == vsphere.OpClone && (f.Revision == "" || f.Revision == revision)
	})
}

// reconfigureFailure returns the failure of a change to the revision.
func (o operations) reconfigureFailure(ordinal int32, revision string) *failure {
	return o.worst(ordinal, func(f *failure) bool {
		return f.Kind == vsphere.OpReconfigure && (f.Revision == "" || f.Revision == revision)
	})
}

// cloning is true while a clone of this ordinal is, or can be, in flight.
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

// busy is true while the ordinal cannot get another operation. A guest that ignores its shutdown does not make the VM busy forever.
func (o operations) busy(ordinal int32) bool {
	return slices.ContainsFunc(o.inFlight[ordinal], func(op vsphere.Operation) bool { return !o.overdue(op) })
}

// leaving is true while an irreversible removal step is in flight.
func (o operations) leaving(ordinal int32) bool {
	return o.running(ordinal, vsphere.OpMark) || o.running(ordinal, vsphere.OpDestroy) || o.running(ordinal, vsphere.OpRelease)
}

// overdue is true for a guest shutdown whose timeout has ended.
func (o operations) overdue(op vsphere.Operation) bool {
	return op.Kind == vsphere.OpShutdownGuest && o.guests.overdue(o.guests.earliest(op))
}

// failure returns the failure of this kind that is retried last, or nil.
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

// nameHeld returns the failure that reports the name of this ordinal as taken by an object outside of the observation. It returns nil once a retry is due.
func (o operations) nameHeld(ordinal int32) *failure {
	f := o.failure(ordinal, vsphere.OpClone)
	if f != nil && f.reason == v1alpha1.ReasonNameConflict && f.RetryAt.After(o.now) {
		return f
	}
	return nil
}
