package group

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// edited reports whether the group was edited since its status was written. A status without a generation was never written, or was cleared: its edits are unknown.
func (s *Snapshot) edited() bool {
	observed := s.Group.Status.ObservedGeneration
	return observed > 0 && s.Group.Generation > observed
}

// rollout returns the recorded update of the group's VMs, or nil.
//
// A version without updates keeps that record, and writes updateRevision. So if the two differ, such a version has observed an edit. If spec still asks for the same VMs, that
// edit starts no update, and neither does a later edit of another field: VMs stay unchanged until a user asks for an update.
func (s *Snapshot) rollout() *plan.Rollout {
	st := &s.Group.Status
	r := rolloutOf(st)
	if r != nil && st.UpdateRevision != r.Revision && r.Revision != s.Revision && (st.UpdateRevision == s.Revision || st.UpdateRevision == s.untriggered()) {
		return &plan.Rollout{Revision: s.Revision}
	}
	return r
}

// untriggered returns the revision of spec for a version that does not know replaceTrigger.
func (s *Snapshot) untriggered() string {
	spec := s.Group.Spec.DeepCopy()
	if spec.UpdateStrategy != nil {
		spec.UpdateStrategy.ReplaceTrigger = ""
	}
	return plan.Revision(*spec)
}

// rolloutOf returns the update that a status records, or nil.
func rolloutOf(status *v1alpha1.VmGroupStatus) *plan.Rollout {
	r := status.Rollout
	if r == nil {
		return nil
	}
	out := &plan.Rollout{Revision: r.Revision, From: r.From, Failed: r.Failed, Tried: r.Tried}
	if r.StartTime != nil {
		out.Start = r.StartTime.Time
	}
	if r.ChangeRefused != nil {
		out.RefusedAt = r.ChangeRefused.Time
	}
	if r.Surge != nil {
		out.Surge, out.SurgeKnown = r.Surge.UUIDs, true
	}
	return out
}

// toStatus returns the record of an update.
func toStatus(r plan.Rollout) *v1alpha1.Rollout {
	out := &v1alpha1.Rollout{Revision: r.Revision, From: slices.Clone(r.From), Failed: slices.Clone(r.Failed), Tried: r.Tried}
	if !r.Start.IsZero() {
		out.StartTime = &metav1.Time{Time: r.Start.Truncate(time.Second)}
	}
	if !r.RefusedAt.IsZero() {
		out.ChangeRefused = &metav1.Time{Time: r.RefusedAt.Truncate(time.Second)}
	}
	if r.SurgeKnown {
		out.Surge = &v1alpha1.RolloutSurge{UUIDs: slices.Clone(r.Surge)}
	}
	return out
}

// begun returns the record of an update that begins while no plan is possible, or nil. An edit is visible only once: with the status that describes it.
func (s *Snapshot) begun() *plan.Rollout {
	was := s.rollout()
	if was == nil || was.Revision == s.Revision || !s.edited() || s.deleting() {
		return nil
	}
	next := plan.Begin(was, true, s.Revision, s.revisions(), s.Now)
	return &next
}

// revisions returns the revisions of the group's VMs, according to status and vCenter.
func (s *Snapshot) revisions() (all []string) {
	add := func(revision string) {
		if !slices.Contains(all, revision) { // there are few revisions, even of many VMs
			all = append(all, revision)
		}
	}
	for i := range s.Group.Status.VMs {
		add(s.Group.Status.VMs[i].Revision)
	}
	for i := range s.Observation.VMs {
		if vm := &s.Observation.VMs[i]; s.stamped(*vm) {
			add(vm.Stamp.Revision)
		}
	}
	slices.Sort(all)
	return all
}

// updates returns the current update, or one that is about to begin. Its From is empty if there is none.
func (s *Snapshot) updates() plan.Rollout {
	return plan.Begin(s.rollout(), s.edited(), s.Revision, s.revisions(), s.Now)
}

// surge returns the number of VMs above spec.replicas to claim from quotas: at most maxSurge, and at most the number of VMs to update. An update at rest claims only the VMs that
// it has, so that a lost one can return.
func (s *Snapshot) surge() int32 {
	update := s.updates()
	switch {
	case len(update.From) == 0 || s.Paused != nil || s.takesOver():
		return 0
	case s.rests(update):
		return min(massdeletion.Surge(s.Group.Spec), s.surplus())
	}
	return min(massdeletion.Surge(s.Group.Spec), s.adds(update.From))
}

// rests reports whether an update takes no further step until a user asks for it.
func (s *Snapshot) rests(update plan.Rollout) bool {
	u := s.Group.Spec.UpdateStrategy
	return u != nil && (u.Paused || u.Type == v1alpha1.UpdateOnDelete) || update.Stopped(u)
}

// surplus returns the number of recorded VMs above spec.replicas that do not leave.
func (s *Snapshot) surplus() int32 {
	n := int32(0)
	for i := range s.Group.Status.VMs {
		vm := &s.Group.Status.VMs[i]
		if vm.Phase != v1alpha1.VMAdopting && !slices.Contains(s.Group.Status.Deleting, vm.Ordinal) {
			n++
		}
	}
	return max(0, n-int32(policy.UsageOf(s.Group.Spec).VMs))
}

// adds returns the maximum number of surge VMs that a running update can want at a time.
func (s *Snapshot) adds(from []string) int32 {
	spec := &s.Group.Spec
	shapes := s.knownShapes()
	var replaced, restarted int32
	for i := range s.Group.Status.VMs {
		vm := &s.Group.Status.VMs[i]
		if vm.Updating {
			restarted = 1 // another VM makes up for it until it is back
		}
		if s.outOfSight(*vm) && slices.Contains(from, vm.Revision) {
			replaced++
		}
	}
	for i := range s.Observation.VMs {
		switch vm := &s.Observation.VMs[i]; {
		case !s.stamped(*vm) || !slices.Contains(from, vm.Stamp.Revision):
		default:
			change, known := s.inPlace(shapes, vm.Stamp.Revision)
			if !known || !change.Possible() {
				replaced++ // also a VM that leaves: its successor can come before its deletion
			} else if !vm.Tombstone && s.mayRestart(vm, change) {
				restarted = 1 // one VM makes up for all that are restarted in turn
			}
		}
	}
	if plan.Unavailable(*spec) > 0 {
		restarted = 0
	}
	if spec.DeletionPolicy == v1alpha1.DeletionRetain { // no VM is added that could not be destroyed; existing surplus VMs are used
		replaced, restarted = 0, min(restarted, s.surplus())
	}
	return max(replaced, restarted)
}

// mayRestart reports whether a VM can need a restart for a change. A change of its disks needs none, unless vCenter asked for it.
func (s *Snapshot) mayRestart(vm *vsphere.VM, change plan.InPlace) bool {
	refused := slices.ContainsFunc(s.Observation.Failures, func(f vsphere.Failure) bool {
		return f.Kind == vsphere.OpReconfigure && f.Ordinal == vm.Stamp.Ordinal && f.Revision == s.Revision && vsphere.KindOf(f.Err) == vsphere.KindOffOnly
	})
	return change.Resizes() && change.Resize != v1alpha1.ResizeHot || change.ChangesDisks() && refused && change.Way(vm, true) == plan.WayRestart
}

// inPlace returns how VMs of a revision are changed in place to the revision of spec, if the shape of the former is known.
func (s *Snapshot) inPlace(shapes []plan.Shape, revision string) (c plan.InPlace, known bool) {
	at := slices.IndexFunc(shapes, func(shape plan.Shape) bool { return shape.Recorded.Revision == revision })
	if at < 0 {
		return c, false
	}
	return plan.InPlaceAs(&s.Group.Spec, shapes[at].Recorded, s.Names.Template.CoresPerSocket, s.Names.KeepsNetwork()), true
}

// recorded returns the record of an update after a plan. The update keeps its record until its surplus VMs have left: until then, they are no scale-down.
func (s *Snapshot) recorded(p *plan.Plan) *plan.Rollout {
	was := s.rollout()
	switch {
	case p.Rollout.Revision == "":
		return nil
	case was != nil && len(was.From) > 0 && was.Revision == p.Rollout.Revision && len(p.Rollout.From) == 0 && (p.Existing > p.Desired || len(p.Doomed) > 0):
		was.Surge, was.SurgeKnown = p.Rollout.Surge, true
		return was
	}
	return &p.Rollout
}

// updateBlocked explains why no VM is updated now although spec can be planned, or returns nil: an update continues only if spec is allowed.
func (s *Snapshot) updateBlocked(admission policy.Admission, hold *plan.RemovalHold, adoption *plan.Adoption) *plan.Blocker {
	switch {
	case s.deleting():
		return nil
	case hold != nil:
		return &hold.Blocker
	case adoption != nil && adoption.Waits != nil:
		return adoption.Waits
	case admission.Reason == "":
		return waits("VMs of another group are adopted first")
	case admission.Reason == v1alpha1.ReasonNotChecked && s.Names.Blocked != nil:
		return s.Names.Blocked
	case admission.Status != metav1.ConditionTrue:
		return BlockerOf(admission)
	}
	return nil
}

// surgeRoom returns what quotas grant to an update: nothing if they were not asked, or refused.
func (s *Snapshot) surgeRoom() plan.SurgeRoom {
	if s.Quota == nil {
		return plan.SurgeRoom{}
	}
	return plan.SurgeRoom{VMs: s.Quota.Surge, Blocker: plan.Blocker{Reason: v1alpha1.ReasonWaitingForQuota, Message: fmt.Sprintf(
		"of the %s that updateStrategy.maxSurge adds, quotas let in %d: %s. It continues when there is room.",
		vmCount(massdeletion.Surge(s.Group.Spec)), s.Quota.Surge, strings.TrimSuffix(s.Quota.Short, "."))}}
}
