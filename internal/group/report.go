package group

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// act decides the status for the plan, and the time of the next check.
func (s *Snapshot) act(admission policy.Admission, d Decision) Decision {
	if first := s.beforeAct(admission, d); first.Step != "" {
		return first
	}
	if d.Step = Act; s.delayed(admission) {
		admission.Admitted = nil // status then does not show it
	}
	var problem error
	if d.Plan.Creates() > 0 || d.Plan.Adopting > 0 {
		if problem = s.folderProblem(); problem != nil {
			d.Plan = d.Plan.Limit(0, d.Plan.Tasks()).Without(plan.ClaimVM, plan.MoveVM, plan.RenameVM, plan.AdoptVM)
		}
	}
	d.Plan = s.within(d.Spec, d.Plan)
	f := s.facts()
	f.Adoption, f.AdoptionEnds, f.Strangers = d.adoption, d.AdoptionEnds, s.strangers()
	// VMs whose clone has not been sent yet show as Pending.
	f.Plan, f.Admission, f.CreateBlocked = d.Plan.Limit(0, 0), admission, d.Names.Blocked
	f.Rollout = s.recorded(&d.Plan)
	_, f.RemovingSince = s.removal()
	f.Complete, f.Incomplete, f.Unavailable = s.Observation.Complete, s.Observation.Incomplete, s.Unavailable
	if f.Complete && len(f.Plan.VMs) == 0 {
		f.Swept = nil // no VM is left to keep
	}
	if problem != nil {
		f.Failure = explained(problem)
		f.Failure.Terminal = f.Failure.Terminal || s.Observation.FolderElsewhere || s.folderTaken() // only a person moves or renames it
		d.look(retryAfter(problem))
	}
	s.say(&d, f.Status())

	if !d.Plan.WakeAt.IsZero() {
		d.look(d.Plan.WakeAt.Sub(s.Now))
	}
	current := d.Status
	if current == nil {
		current = &s.Group.Status
	}
	if deadline := ProgressDeadline(current, s.Group.Spec); deadline.After(s.Now) {
		d.look(deadline.Sub(s.Now))
	}
	if d.adoption != nil && (d.Plan.Adopting > 0 || d.adoption.Waits != nil) {
		d.look(AdoptionInterval)
	}
	if s.unwatched() {
		d.look(unwatchedInterval)
	}
	return d
}

// beforeAct returns the step that must come before the plan is carried out, or no step.
func (s *Snapshot) beforeAct(admission policy.Admission, d Decision) Decision {
	if d.AdoptionEnds && !s.Written { // the folder of the other group is removed
		return s.recordOwner()
	}
	if d.Record = s.toRecord(admission); d.Record != nil {
		d.Step = PutRecord
		return d
	}
	if s.Paused == nil && s.delayed(admission) {
		return s.waitForRecord()
	}
	return Decision{}
}

// blocked reports why no action is taken, and does nothing else.
func (s *Snapshot) blocked(b plan.Blocker, after time.Duration) Decision {
	d := Decision{Step: Report, After: after}
	f := s.facts()
	f.Incomplete, f.Failure, f.Rollout = b.Message, &b, s.begun()
	s.say(&d, f.blockedStatus())
	return d
}

// waits is blocked for a temporary reason: the conditions about policies and vCenter stay.
func (s *Snapshot) waits(b plan.Blocker, after time.Duration) Decision {
	d := Decision{Step: Report, After: after}
	f := s.facts()
	f.Incomplete, f.Failure, f.Rollout = b.Message, &b, s.begun()
	next := f.blockedStatus()
	for _, kept := range []string{v1alpha1.ConditionVCenterReachable, v1alpha1.ConditionPolicyCompliant} {
		if c := meta.FindStatusCondition(s.Group.Status.Conditions, kept); c != nil {
			meta.SetStatusCondition(&next.Conditions, *c)
		}
	}
	s.say(&d, next)
	return d
}

// facts returns the facts that every status needs.
func (s *Snapshot) facts() Facts {
	f := Facts{
		Old: s.Group.Status, Name: s.Group.Name, Generation: s.generation(), Spec: s.Group.Spec, Now: s.Now, Deleting: s.deleting(), Keeps: s.releases(), WithoutEffect: s.keepsNothing(),
		VCenter: s.VCenter, InstanceUUID: s.Observation.InstanceUUID, Folder: s.Folder, Epoch: s.Epoch, Paused: s.Paused,
		AdoptFrom: s.adoptFrom(),
	}
	if hold := s.sweptHold(); hold != nil {
		f.Swept = &hold.Blocker
	}
	return f
}

// say writes next if it is worth a write. An unimportant change can be delayed for a while. Before the first change in vCenter, next is written even if status does not change:
// see Written.
func (s *Snapshot) say(d *Decision, next v1alpha1.VmGroupStatus) {
	old := s.Group.Status
	first := !s.Written && len(d.Plan.Actions) > 0
	if len(d.Plan.Actions) == 0 && SameButOwnership(old, next) || !first && sameStatus(&old, &next) {
		return
	}
	if wait := s.mayWait(old, next); !first && wait > 0 {
		d.look(wait)
		d.Later = &next
		return
	}
	d.Status, d.Events = &next, Events(old, next)
}

// mayWait returns how long a write of next can be delayed, or zero.
func (s *Snapshot) mayWait(old, next v1alpha1.VmGroupStatus) time.Duration {
	interval := statusInterval
	if s.Paused != nil && meta.IsStatusConditionTrue(old.Conditions, v1alpha1.ConditionPaused) {
		// The operator takes no action for an edit, so nothing depends on its record.
		interval, old.ObservedGeneration, old.Rollout = pausedInterval, next.ObservedGeneration, next.Rollout
		old.Revisions, old.AdoptedRevisions = next.Revisions, next.AdoptedRevisions
	}
	if s.Reported.IsZero() || Urgent(old, next) {
		return 0
	}
	if Large(&old) && sameButDetails(old, next) {
		interval = max(interval, detailsInterval)
	}
	return s.Reported.Add(interval).Sub(s.Now)
}

// look schedules the next check no later than after this time.
func (d *Decision) look(after time.Duration) {
	if after = max(after, 10*time.Millisecond); d.After == 0 || after < d.After {
		d.After = after
	}
}

// known returns the VMs that status records.
func known(status *v1alpha1.VmGroupStatus) []plan.Known {
	out := make([]plan.Known, 0, len(status.VMs))
	for _, vm := range status.VMs {
		k := plan.Known{
			Ordinal: vm.Ordinal, Incarnation: vm.Incarnation, MoRef: vm.MoRef, UUID: vm.UUID, Revision: vm.Revision, RootDiskGiB: vm.RootDiskGiB, DataDisks: vm.DataDisks,
			Phase: vm.Phase, Updating: vm.Updating,
		}
		if vm.ReadySince != nil {
			k.ReadySince = vm.ReadySince.Time
		}
		if vm.StartTime != nil {
			k.StartTime = vm.StartTime.Time
		}
		if vm.StoppedForChange != nil {
			k.StoppedAt = vm.StoppedForChange.Time
		}
		if vm.ChangeRefused != nil {
			k.RefusedAt = vm.ChangeRefused.Time
		}
		if vm.Replaces != nil {
			k.Replaces = plan.Lost{MoRef: vm.Replaces.MoRef, UUID: vm.Replaces.UUID}
		}
		if vm.ShutdownTime != nil {
			k.ShutdownTime = vm.ShutdownTime.Time
		}
		out = append(out, k)
	}
	return out
}
