package group

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

const (
	// messageReconciled is the success message of the original operator.
	messageReconciled = "successfully reconciled VmGroup"
	// selectorKey is the label of a selector that matches nothing for autoscalers, because VMs are not Pods. Autoscalers refuse the scale subresource of a custom resource
	// without a selector.
	selectorKey = "vm.codeconnect.vmworld.com/group"

	maxVMMessage = 512
	maxCondition = 4096
	maxPath      = 2048
)

// Facts are the sources of status.
type Facts struct {
	// Old is the status as it was read.
	Old v1alpha1.VmGroupStatus
	// Name, Generation and Spec of the group.
	Name       string
	Generation int64
	Spec       v1alpha1.VmGroupSpec
	// Now is the time of the decision.
	Now time.Time
	// Deleting is true once the group has a deletion timestamp.
	Deleting bool
	// Keeps is true for a group that is being deleted and keeps its VMs. WithoutEffect describes annotations that ask for this without effect.
	Keeps         bool
	WithoutEffect string
	// Plan has the next actions.
	Plan plan.Plan
	// Rollout is the new record of the update, or nil if it does not change.
	Rollout *plan.Rollout
	// Complete is false if the observation can miss VMs. Incomplete then explains why. Unavailable also explains why if vCenter itself is the cause.
	Complete    bool
	Incomplete  string
	Unavailable *plan.Blocker
	// VCenter is the name of the group's VCenter. InstanceUUID is that of the server behind it. Folder is the group's folder there, or nil.
	VCenter      string
	InstanceUUID string
	Folder       *v1alpha1.FolderStatus
	// Admission is the part of spec that the group can follow. Without a reason, it is undecided.
	Admission policy.Admission
	// Paused explains the pause of the group, or is nil.
	Paused *plan.Blocker
	// CreateBlocked explains why a lost VM could not be replaced, or is nil.
	CreateBlocked *plan.Blocker
	// Failure to create the group's folder, or nil.
	Failure *plan.Blocker
	// Swept explains why the operator keeps the VMs of a group that is deleted because its CRD was deleted, or is nil.
	Swept *plan.Blocker
	// RemovingSince is the time since when all VMs of the group are known to leave, or zero if no wait is needed.
	RemovingSince time.Time
	// AdoptFrom is the UID of the group whose VMs the group adopts, or empty. Adoption is the knowledge about them, if it was needed. AdoptionEnds is true when the last VM was
	// adopted. Strangers are names of VMs next to those of the original operator that get no action.
	AdoptFrom    string
	Adoption     *plan.Adoption
	AdoptionEnds bool
	Strangers    []string
	// Epoch of the replica that writes.
	Epoch v1alpha1.Epoch
}

// Status derives the whole status.
func (f Facts) Status() v1alpha1.VmGroupStatus {
	s := *f.Old.DeepCopy()
	s.ObservedGeneration = f.Generation
	s.DesiredReplicas = f.desired()
	if f.Admission.Reason != "" && f.Admission.Admitted != nil {
		s.Admitted = f.Admission.Admitted
	}
	s.Selector = selectorKey + "=" + f.Name
	s.UpdateRevision = plan.Revision(f.Spec)
	if f.Rollout != nil {
		s.Rollout = toStatus(*f.Rollout)
	}
	s.Folder = shownFolder(f.Folder)
	switch {
	case f.Folder != nil:
		s.VCenter = f.VCenter
		if f.Complete && f.InstanceUUID != "" {
			s.VCenterInstanceUUID = f.InstanceUUID
		}
	case s.VCenter != f.VCenter:
		s.VCenter, s.VCenterInstanceUUID = "", "" // nothing confirms it
	}
	if s.Ownership == nil || s.Ownership.Epoch.Less(f.Epoch) {
		if f.Epoch != (v1alpha1.Epoch{}) {
			s.Ownership = &v1alpha1.Ownership{Epoch: f.Epoch}
		}
	}
	if f.Complete {
		// After an incomplete observation, the table of the last complete one is more useful.
		s.Replicas, s.CurrentReplicas = f.Plan.Existing, f.Plan.Existing
		s.ReadyReplicas, s.UpdatedReplicas = f.Plan.Ready, f.Plan.Updated
		s.VMs = vmStatuses(f.Plan.VMs)
		s.Deleting = slices.Clone(f.Plan.Doomed)
		s.DeleteFirst, s.Replaced = listedStatuses(f.Plan.Listed), f.Plan.Replaced
		s.Revisions, s.AdoptedRevisions, s.ReadinessGate = f.Plan.Revisions, f.Plan.AdoptedRevisions, recordedGate(f.Plan.Gate)
		s.CurrentRevision = currentRevision(f.Old.CurrentRevision, f.Plan.VMs)
	} else {
		s.UpdatedReplicas = min(s.UpdatedReplicas, recordedAs(s.UpdateRevision, s.VMs)) // spec can have been edited since
	}
	brief := setConditions(&s, f)
	drop(&s, v1alpha1.ConditionUnattended)
	switch {
	case meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionStalled):
		s.Phase = v1alpha1.PhaseError
	case meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionReady):
		s.Phase = v1alpha1.PhaseRunning
	default:
		s.Phase = v1alpha1.PhasePending
	}
	s.LastMessage = headline(brief)
	return s
}

// blockedStatus changes conditions, phase and message only.
func (f Facts) blockedStatus() v1alpha1.VmGroupStatus {
	s := f.Status()
	s.DesiredReplicas = f.Old.DesiredReplicas
	drop(&s, v1alpha1.ConditionVCenterReachable)
	drop(&s, v1alpha1.ConditionPolicyCompliant)
	return s
}

func vmStatuses(vms []plan.VMStatus) []v1alpha1.VMStatus {
	out := make([]v1alpha1.VMStatus, 0, len(vms))
	for _, vm := range vms {
		s := v1alpha1.VMStatus{
			Name: vm.Name, Ordinal: vm.Ordinal, Incarnation: vm.Incarnation,
			UUID: vm.UUID, MoRef: vm.MoRef, Phase: vm.Phase, PowerState: string(vm.Power),
			IPAddress: untrusted.Text(vm.IPAddress, 64), Revision: untrusted.Text(vm.Revision, vsphere.LongestRevision), CloneMode: vm.CloneMode, RootDiskGiB: vm.RootDiskGiB, DataDisks: vm.DataDisks,
			Message: untrusted.Text(vm.Message, maxVMMessage), Updating: vm.Updating, RestartPending: vm.RestartPending,
		}
		if !vm.StartTime.IsZero() {
			s.StartTime = &metav1.Time{Time: vm.StartTime.Truncate(time.Second)}
		}
		if !vm.ReadySince.IsZero() {
			s.ReadySince = &metav1.Time{Time: vm.ReadySince.Truncate(time.Second)}
		}
		if !vm.StoppedAt.IsZero() {
			s.StoppedForChange = &metav1.Time{Time: vm.StoppedAt.Truncate(time.Second)}
		}
		if !vm.RefusedAt.IsZero() {
			s.ChangeRefused = &metav1.Time{Time: vm.RefusedAt.Truncate(time.Second)}
		}
		if vm.Replaces.MoRef != "" {
			s.Replaces = &v1alpha1.LostVM{MoRef: vm.Replaces.MoRef, UUID: vm.Replaces.UUID}
		}
		if !vm.ShutdownTime.IsZero() {
			s.ShutdownTime = &metav1.Time{Time: vm.ShutdownTime.Truncate(time.Second)}
		}
		out = append(out, s)
	}
	return out
}

// currentRevision returns the revision that all VMs have, or the last one that they all had.
func currentRevision(old string, vms []plan.VMStatus) string {
	revision := ""
	for _, vm := range vms {
		if vm.MoRef == "" || vm.Phase == v1alpha1.VMDeleting {
			continue
		}
		if revision != "" && revision != vm.Revision {
			return old
		}
		revision = vm.Revision
	}
	if revision == "" {
		return old
	}
	return revision
}

// drop removes a condition. The function of package meta copies the list even without the condition, which is the case in most passes.
func drop(s *v1alpha1.VmGroupStatus, conditionType string) {
	if meta.FindStatusCondition(s.Conditions, conditionType) != nil {
		meta.RemoveStatusCondition(&s.Conditions, conditionType)
	}
}

// setConditions returns the short message: that of a stalled group, or that of condition Ready.
func setConditions(s *v1alpha1.VmGroupStatus, f Facts) (brief string) {
	set := func(conditionType string, status metav1.ConditionStatus, reason, message string) {
		meta.SetStatusCondition(&s.Conditions, metav1.Condition{
			Type: conditionType, Status: status, Reason: reason, Message: untrusted.Text(message, maxCondition),
			ObservedGeneration: f.Generation, LastTransitionTime: metav1.NewTime(f.Now.Truncate(time.Second)),
		})
	}
	onlyWhile := func(present bool, conditionType, reason, message string) {
		if present {
			set(conditionType, metav1.ConditionTrue, reason, message)
		} else {
			drop(s, conditionType)
		}
	}

	blockers := f.blockers()
	stalled := terminal(blockers)
	ready := f.readiness(blockers)
	set(v1alpha1.ConditionReady, ready.status, ready.reason, ready.message)
	working := f.Complete && (!f.Plan.Settled || f.updating()) && stalled == nil && ready.status != metav1.ConditionTrue && !held(blockers)
	if f.Complete || stalled != nil || f.Paused != nil { // otherwise work in progress continues, and so does its time: see ProgressDeadline
		onlyWhile(working, v1alpha1.ConditionReconciling, ready.reason, ready.message)
	}
	if working && stalled == nil {
		stalled = overdue(s, f, ready)
	}
	if brief = ready.brief; stalled != nil {
		brief = briefly(*stalled)
	}
	if f.Paused != nil {
		set(v1alpha1.ConditionPaused, metav1.ConditionTrue, f.Paused.Reason, f.Paused.Message)
	} else {
		drop(s, v1alpha1.ConditionPaused)
	}
	setRemoving(s, f)
	setAdopted(s, f, set)
	if stalled != nil {
		set(v1alpha1.ConditionStalled, metav1.ConditionTrue, stalled.Reason, stalled.Message)
	} else {
		drop(s, v1alpha1.ConditionStalled)
	}

	switch {
	case f.Unavailable != nil:
		set(v1alpha1.ConditionVCenterReachable, metav1.ConditionFalse, f.Unavailable.Reason, f.Unavailable.Message)
	case !f.Complete:
		set(v1alpha1.ConditionVCenterReachable, metav1.ConditionTrue, v1alpha1.ReasonInventoryIncomplete, f.Incomplete)
	default:
		set(v1alpha1.ConditionVCenterReachable, metav1.ConditionTrue, v1alpha1.ReasonVCenterReachable, fmt.Sprintf("VCenter %q answers.", f.VCenter))
	}
	if f.Admission.Reason != "" {
		set(v1alpha1.ConditionPolicyCompliant, f.Admission.Status, f.Admission.Reason, f.Admission.Message)
	}
	setUpToDate(s, f, set)
	if f.Complete {
		foreignReason, foreignMessage := describeForeign(f.Plan.Foreign, f.Folder)
		onlyWhile(len(f.Plan.Foreign) > 0, v1alpha1.ConditionForeignVMs, foreignReason, foreignMessage)
	}
	return brief
}

// blockers returns everything that blocks the group, the most important first.
func (f Facts) blockers() []plan.Blocker {
	var all []plan.Blocker
	if f.Unavailable != nil {
		all = append(all, *f.Unavailable)
	}
	if f.Failure != nil {
		all = append(all, *f.Failure)
	}
	if f.Swept != nil {
		all = append(all, *f.Swept)
	}
	if f.Admission.Held {
		all = append(all, *BlockerOf(f.Admission))
	}
	for _, b := range f.Plan.Blockers {
		if f.Admission.Held && b.Reason == f.Admission.Reason {
			continue
		}
		if f.Unavailable != nil && b.Reason == v1alpha1.ReasonInventoryIncomplete {
			continue // a duplicate with less detail
		}
		if f.Swept != nil && b.Reason == f.Swept.Reason {
			continue
		}
		all = append(all, b)
	}
	switch update := f.Plan.Update; update.Reason {
	case v1alpha1.ReasonRolloutStopped, v1alpha1.ReasonRetainForbidsReplacement:
		if f.updating() {
			all = append(all, plan.Blocker{Reason: update.Reason, Message: update.Message, Terminal: true})
		}
	}
	return all
}

// BlockerOf returns the blocker for a group that an admission holds.
func BlockerOf(admission policy.Admission) *plan.Blocker {
	return &plan.Blocker{Reason: admission.Reason, Message: admission.Message, Terminal: admission.Terminal}
}

// desired returns the number of VMs in spec, also while the group is held at fewer.
func (f Facts) desired() int32 {
	if f.Admission.Held && f.Spec.Replicas != nil {
		return *f.Spec.Replicas
	}
	return f.Plan.Desired
}

// held reports whether a user asked the operator not to act, so that it does not work towards spec.
func held(blockers []plan.Blocker) bool {
	return slices.ContainsFunc(blockers, func(b plan.Blocker) bool {
		switch b.Reason {
		case v1alpha1.ReasonPaused, v1alpha1.ReasonMemberPaused, v1alpha1.ReasonRepairHeld:
			return true
		}
		return false
	})
}

func terminal(blockers []plan.Blocker) *plan.Blocker {
	for i := range blockers {
		if blockers[i].Terminal {
			return &blockers[i]
		}
	}
	return nil
}

// overdue reports a change that takes longer than spec.readiness.progressDeadlineSeconds.
func overdue(s *v1alpha1.VmGroupStatus, f Facts, ready readiness) *plan.Blocker {
	deadline := ProgressDeadline(s, f.Spec)
	if deadline.IsZero() || f.Now.Before(deadline) {
		return nil
	}
	return &plan.Blocker{
		Reason: v1alpha1.ReasonProgressDeadlineExceeded,
		Message: fmt.Sprintf("the change is not complete after spec.readiness.progressDeadlineSeconds (%d s): %s. The operator keeps trying; status.vms names the VM that is behind",
			f.Spec.Readiness.ProgressDeadlineSeconds, ready.message),
		Brief:    fmt.Sprintf("spec.readiness.progressDeadlineSeconds (%d s) is over: %s", f.Spec.Readiness.ProgressDeadlineSeconds, ready.brief),
		Terminal: true,
	}
}

// ProgressDeadline returns when a change in progress becomes overdue; zero for never.
func ProgressDeadline(s *v1alpha1.VmGroupStatus, spec v1alpha1.VmGroupSpec) time.Time {
	reconciling := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReconciling)
	if reconciling == nil || spec.Readiness == nil || spec.Readiness.ProgressDeadlineSeconds == 0 {
		return time.Time{}
	}
	since := reconciling.LastTransitionTime.Time
	if r := s.Rollout; r != nil && r.StartTime != nil && r.StartTime.After(since) {
		since = r.StartTime.Time // another edit is another change
	}
	return since.Add(time.Duration(spec.Readiness.ProgressDeadlineSeconds) * time.Second)
}

// list joins names, and counts those beyond most.
func list(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
}
