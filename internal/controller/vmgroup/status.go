package vmgroup

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
)

const (
	// messageReconciled is what the original operator said when all was well.
	messageReconciled = "successfully reconciled VmGroup"
	// selectorKey is the label by which an autoscaler's selector finds nothing: VMs are not pods. It has to be
	// there, since the scale subresource of a custom resource without one is refused by autoscalers.
	selectorKey = "vm.codeconnect.vmworld.com/group"

	maxLastMessage = 1024
	maxVMMessage   = 512
	maxCondition   = 4096
)

// facts are what status is made of.
type facts struct {
	// old is the status as it was read.
	old        v1alpha1.VmGroupStatus
	name       string
	generation int64
	spec       v1alpha1.VmGroupSpec
	now        time.Time
	deleting   bool
	plan       plan.Plan
	// complete is false when the observation may miss VMs; unavailable then says why if vCenter itself is the reason.
	complete    bool
	incomplete  string
	unavailable *plan.Blocker
	vcenter     string
	folder      *v1alpha1.FolderStatus
	// hold is how far the group may follow its spec; without a reason, nobody has said anything about that.
	hold policy.Hold
	// createBlocked explains why a VM that is lost could not be replaced, or is nil.
	createBlocked *plan.Blocker
	// failure to create the group's folder, or nil.
	failure *plan.Blocker
	epoch   v1alpha1.Epoch
}

// newStatus derives the whole status from facts. It is pure.
func newStatus(f facts) v1alpha1.VmGroupStatus {
	s := *f.old.DeepCopy()
	s.ObservedGeneration = f.generation
	s.DesiredReplicas = f.desired()
	if f.hold.Reason != "" {
		s.Admitted = f.hold.Admitted
	}
	s.Selector = selectorKey + "=" + f.name
	s.UpdateRevision = plan.Revision(f.spec)
	s.Folder = f.folder
	if f.folder != nil {
		s.VCenter = f.vcenter
	}
	if s.Ownership == nil || s.Ownership.Epoch.Less(f.epoch) {
		if f.epoch != (v1alpha1.Epoch{}) {
			s.Ownership = &v1alpha1.Ownership{Epoch: f.epoch}
		}
	}
	if f.complete {
		// On an incomplete observation the last complete one is worth more than a table full of holes.
		s.Replicas, s.CurrentReplicas = f.plan.Existing, f.plan.Existing
		s.ReadyReplicas, s.UpdatedReplicas = f.plan.Ready, f.plan.Updated
		s.VMs = vmStatuses(f.plan.Slots)
		s.Deleting = slices.Clone(f.plan.Doomed)
		s.CurrentRevision = currentRevision(f.old.CurrentRevision, f.plan.Slots)
	}
	setConditions(&s, f)
	meta.RemoveStatusCondition(&s.Conditions, v1alpha1.ConditionUnattended)
	ready := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady)
	switch {
	case meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionStalled):
		s.Phase = v1alpha1.PhaseError
		s.LastMessage = meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionStalled).Message
	case ready.Status == metav1.ConditionTrue:
		s.Phase = v1alpha1.PhaseRunning
		s.LastMessage = messageReconciled
	default:
		s.Phase = v1alpha1.PhasePending
		s.LastMessage = ready.Message
	}
	s.LastMessage = truncate(s.LastMessage, maxLastMessage)
	return s
}

func vmStatuses(slots []plan.Slot) []v1alpha1.VMStatus {
	out := make([]v1alpha1.VMStatus, 0, len(slots))
	for _, slot := range slots {
		vm := v1alpha1.VMStatus{
			Name: slot.Name, Ordinal: slot.Ordinal, Incarnation: slot.Incarnation,
			UUID: slot.UUID, MoRef: slot.MoRef, Phase: slot.Phase, PowerState: string(slot.Power),
			IPAddress: truncate(slot.IPAddress, 64), Revision: slot.Revision, CloneMode: slot.CloneMode,
			Message: truncate(slot.Message, maxVMMessage),
		}
		if !slot.ReadySince.IsZero() {
			since := metav1.NewTime(slot.ReadySince.Truncate(time.Second))
			vm.ReadySince = &since
		}
		out = append(out, vm)
	}
	return out
}

// currentRevision is the revision that all VMs have, or the last one that they all had.
func currentRevision(old string, slots []plan.Slot) string {
	revision := ""
	for _, slot := range slots {
		if slot.MoRef == "" || slot.Phase == v1alpha1.VMDeleting {
			continue
		}
		if revision != "" && revision != slot.Revision {
			return old
		}
		revision = slot.Revision
	}
	if revision == "" {
		return old
	}
	return revision
}

func setConditions(s *v1alpha1.VmGroupStatus, f facts) {
	set := func(conditionType string, status metav1.ConditionStatus, reason, message string) {
		meta.SetStatusCondition(&s.Conditions, metav1.Condition{
			Type: conditionType, Status: status, Reason: reason, Message: truncate(message, maxCondition),
			ObservedGeneration: f.generation, LastTransitionTime: metav1.NewTime(f.now.Truncate(time.Second)),
		})
	}
	onlyWhile := func(present bool, conditionType, reason, message string) {
		if present {
			set(conditionType, metav1.ConditionTrue, reason, message)
		} else {
			meta.RemoveStatusCondition(&s.Conditions, conditionType)
		}
	}

	blockers := f.blockers()
	stalled := terminal(blockers)
	status, reason, message := f.readiness(blockers)
	set(v1alpha1.ConditionReady, status, reason, message)
	working := f.complete && !f.plan.Settled && stalled == nil && status != metav1.ConditionTrue && !held(blockers)
	onlyWhile(working, v1alpha1.ConditionReconciling, reason, message)
	if working && stalled == nil {
		stalled = overdue(s, f)
	}
	if stalled != nil {
		set(v1alpha1.ConditionStalled, metav1.ConditionTrue, stalled.Reason, stalled.Message)
	} else {
		meta.RemoveStatusCondition(&s.Conditions, v1alpha1.ConditionStalled)
	}

	switch {
	case f.unavailable != nil:
		set(v1alpha1.ConditionVCenterReachable, metav1.ConditionFalse, f.unavailable.Reason, f.unavailable.Message)
	case !f.complete:
		set(v1alpha1.ConditionVCenterReachable, metav1.ConditionTrue, v1alpha1.ReasonInventoryIncomplete, f.incomplete)
	default:
		set(v1alpha1.ConditionVCenterReachable, metav1.ConditionTrue, v1alpha1.ReasonVCenterReachable, fmt.Sprintf("VCenter %q answers.", f.vcenter))
	}
	if f.hold.Reason != "" {
		set(v1alpha1.ConditionPolicyCompliant, f.hold.Status, f.hold.Reason, f.hold.Message)
	}
	if f.complete {
		setUpToDate(set, f)
		foreignReason, foreignMessage := describeForeign(f.plan.Foreign, f.folder)
		onlyWhile(len(f.plan.Foreign) > 0, v1alpha1.ConditionForeignVMs, foreignReason, foreignMessage)
	}
}

// blockers are everything that holds the group up, the most important first.
func (f facts) blockers() []plan.Blocker {
	var all []plan.Blocker
	if f.unavailable != nil {
		all = append(all, *f.unavailable)
	}
	if f.failure != nil {
		all = append(all, *f.failure)
	}
	if f.hold.Held {
		all = append(all, *blockerOf(f.hold))
	}
	for _, b := range f.plan.Blockers {
		if f.hold.Held && b.Reason == f.hold.Reason {
			continue
		}
		if f.unavailable != nil && b.Reason == v1alpha1.ReasonInventoryIncomplete {
			continue // the same said twice, with less detail
		}
		all = append(all, b)
	}
	return all
}

// desired is what spec asks for, also while the group is held at less.
func (f facts) desired() int32 {
	if f.hold.Held && f.spec.Replicas != nil {
		return *f.spec.Replicas
	}
	return f.plan.Desired
}

// held reports whether somebody asked the operator not to act, so that it is not working towards spec.
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

// readiness says whether the group is as asked for, and if not, why.
func (f facts) readiness(blockers []plan.Blocker) (metav1.ConditionStatus, string, string) {
	p := f.plan
	if !f.complete {
		if len(blockers) > 0 {
			return metav1.ConditionUnknown, blockers[0].Reason, blockers[0].Message
		}
		return metav1.ConditionUnknown, v1alpha1.ReasonInventoryIncomplete, f.incomplete
	}
	counts := fmt.Sprintf("%d of %s ready", p.Ready, are(p.Desired))
	satisfied := !f.deleting && !f.hold.Held && p.Existing == p.Desired && p.Ready == p.Desired && len(p.Doomed) == 0
	if satisfied && terminal(blockers) == nil {
		if len(blockers) > 0 {
			return metav1.ConditionTrue, v1alpha1.ReasonAllVMsReady, counts + "; " + blockers[0].Message
		}
		if b := f.createBlocked; b != nil {
			return metav1.ConditionTrue, v1alpha1.ReasonAllVMsReady, counts + ", but a VM that is lost could not be replaced: " + b.Message
		}
		return metav1.ConditionTrue, v1alpha1.ReasonAllVMsReady, counts + "."
	}
	if len(blockers) > 0 {
		b := blockers[0]
		if t := terminal(blockers); t != nil {
			b = *t
		}
		return metav1.ConditionFalse, b.Reason, b.Message
	}
	switch {
	case f.deleting:
		return metav1.ConditionFalse, v1alpha1.ReasonDeleting, fmt.Sprintf("deleting: %s left", are(int32(len(p.Slots))))
	case p.Repairing:
		return metav1.ConditionFalse, v1alpha1.ReasonRepairing, counts + "; repairing what was changed outside of the operator"
	case p.Existing < p.Desired:
		return metav1.ConditionFalse, v1alpha1.ReasonScalingUp, fmt.Sprintf("%d of %s there; cloning the others", p.Existing, are(p.Desired))
	case p.Existing > p.Desired || len(p.Doomed) > 0:
		return metav1.ConditionFalse, v1alpha1.ReasonScalingDown, fmt.Sprintf("%s wanted; removing %d", are(p.Desired), len(p.Doomed))
	case f.spec.PowerState == v1alpha1.PowerOff:
		return metav1.ConditionFalse, v1alpha1.ReasonStopping, fmt.Sprintf("%d of %s stopped%s", p.Ready, are(p.Desired), waitingFor(p.Slots))
	default:
		return metav1.ConditionFalse, v1alpha1.ReasonStarting, counts + waitingFor(p.Slots)
	}
}

// are says how many VMs there are, as the beginning of a sentence.
func are(n int32) string {
	if n == 1 {
		return "1 VM is"
	}
	return fmt.Sprintf("%d VMs are", n)
}

// waitingFor names the first VM that is not available, and why.
func waitingFor(slots []plan.Slot) string {
	for _, slot := range slots {
		switch {
		case slot.Available:
		case slot.Message != "":
			return fmt.Sprintf("; %s: %s", slot.Name, slot.Message)
		case slot.Phase == v1alpha1.VMReady:
			return fmt.Sprintf("; %s has not been ready for spec.readiness.minReadySeconds yet", slot.Name)
		default:
			return fmt.Sprintf("; %s is in phase %s", slot.Name, slot.Phase)
		}
	}
	return ""
}

// overdue reports a change that takes longer than spec.readiness.progressDeadlineSeconds.
func overdue(s *v1alpha1.VmGroupStatus, f facts) *plan.Blocker {
	deadline := progressDeadline(s, f.spec)
	if deadline.IsZero() || f.now.Before(deadline) {
		return nil
	}
	return &plan.Blocker{
		Reason: v1alpha1.ReasonProgressDeadlineExceeded,
		Message: fmt.Sprintf("the change is not complete after spec.readiness.progressDeadlineSeconds (%d s): %s. The operator keeps trying; status.vms says which VM is behind",
			f.spec.Readiness.ProgressDeadlineSeconds, meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady).Message),
	}
}

// progressDeadline is when a change that is under way becomes overdue; zero for never.
func progressDeadline(s *v1alpha1.VmGroupStatus, spec v1alpha1.VmGroupSpec) time.Time {
	reconciling := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReconciling)
	if reconciling == nil || spec.Readiness == nil || spec.Readiness.ProgressDeadlineSeconds == 0 {
		return time.Time{}
	}
	return reconciling.LastTransitionTime.Add(time.Duration(spec.Readiness.ProgressDeadlineSeconds) * time.Second)
}

func setUpToDate(set func(string, metav1.ConditionStatus, string, string), f facts) {
	if len(f.plan.Outdated) == 0 {
		set(v1alpha1.ConditionUpToDate, metav1.ConditionTrue, v1alpha1.ReasonUpToDate, "Every VM has the current revision.")
		return
	}
	advice := "Delete a VM in vCenter to have it replaced"
	if f.createBlocked != nil {
		advice = "Do not delete any: it could not be replaced now, see condition Ready"
	}
	set(v1alpha1.ConditionUpToDate, metav1.ConditionFalse, v1alpha1.ReasonRolloutPending,
		fmt.Sprintf("%s of an older revision of spec: %s. New VMs get the current one; the operator does not change existing VMs in this version. %s",
			are(int32(len(f.plan.Outdated))), list(f.plan.Outdated, 10), advice))
}

// describeForeign names VMs that are not ours, and what to do about them.
func describeForeign(foreign []plan.Foreign, folder *v1alpha1.FolderStatus) (reason, message string) {
	var copies, strangers []string
	conflict := false
	for _, vm := range foreign {
		conflict = conflict || vm.TakesName
		label := fmt.Sprintf("%s (%s)", vm.Name, vm.MoRef)
		if vm.Copy {
			copies = append(copies, label)
		} else {
			strangers = append(strangers, label)
		}
	}
	path := ""
	if folder != nil {
		path = " " + folder.Path
	}
	var parts []string
	if len(copies) > 0 {
		reason = v1alpha1.ReasonCopiedStamps
		parts = append(parts, fmt.Sprintf("copies of this group's VMs carry its stamp: %s; remove the vmgroup.* keys from their configuration, or delete them in vCenter", list(copies, 10)))
	}
	if len(strangers) > 0 {
		reason = v1alpha1.ReasonUnstampedVMs
		parts = append(parts, fmt.Sprintf("VMs that are not this group's are in its folder%s: %s; move them out", path, list(strangers, 10)))
	}
	if conflict {
		reason = v1alpha1.ReasonNameConflict
	}
	return reason, strings.Join(parts, ". ") + ". The operator never touches them"
}

// list joins names, and counts those beyond most.
func list(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
}

// truncate cuts s to at most n bytes without splitting a character.
func truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	const ellipsis = "…"
	return strings.ToValidUTF8(s[:n-len(ellipsis)], "") + ellipsis
}
