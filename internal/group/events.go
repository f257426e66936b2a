package group

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// Event is a Kubernetes event. It is emitted once, after its status was stored.
type Event struct {
	// Type, Reason and Action are as in events.k8s.io. Note is a sentence.
	Type, Reason, Action, Note string
	// Handled is true for a warning that needs no person's action on the group: the operator repairs a change by others, or waits for what another object reports.
	Handled bool
}

// reportedElsewhere are the reasons that VCenters, policies and the hub report themselves, once instead of once for each group that waits, and those of an update that
// waits, which condition UpToDate reports.
var reportedElsewhere = map[string]bool{
	v1alpha1.ReasonVCenterUnreachable:  true,
	v1alpha1.ReasonVCenterTerminating:  true,
	v1alpha1.ReasonInvalidLogin:        true,
	v1alpha1.ReasonInventoryIncomplete: true,
	v1alpha1.ReasonPolicyUnavailable:   true,
	v1alpha1.ReasonWaitingForQuota:     true,
	v1alpha1.ReasonRolloutPending:      true,
}

// Events compares two statuses. Changes of VMs come before their consequences. VMs of one pass share an event, so that a big scale-up does not flood the API server.
func Events(old, next v1alpha1.VmGroupStatus) []Event {
	out := append(vmEvents(old, next), rolloutEvents(&old, &next)...)
	out = append(out, policyEvent(old, next)...)
	for _, conditionType := range []string{v1alpha1.ConditionStalled, v1alpha1.ConditionForeignVMs} {
		was, is := meta.FindStatusCondition(old.Conditions, conditionType), meta.FindStatusCondition(next.Conditions, conditionType)
		if is != nil && (was == nil || was.Reason != is.Reason) {
			out = append(out, conditionEvent(corev1.EventTypeWarning, "Reconcile", is))
		}
	}
	return append(out, readyEvent(old, next)...)
}

func conditionEvent(eventType, action string, c *metav1.Condition) Event {
	return Event{Type: eventType, Reason: c.Reason, Action: action, Note: c.Message, Handled: reportedElsewhere[c.Reason]}
}

func readyEvent(old, next v1alpha1.VmGroupStatus) []Event {
	was, is := meta.FindStatusCondition(old.Conditions, v1alpha1.ConditionReady), meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionReady)
	if is == nil || (was != nil && was.Status == is.Status && was.Reason == is.Reason) {
		return nil
	}
	if meta.IsStatusConditionTrue(next.Conditions, v1alpha1.ConditionStalled) {
		return nil // the Stalled event has the same message
	}
	return []Event{conditionEvent(readyEventType(is.Reason), "Reconcile", is)}
}

// readyEventType is Normal while the operator works or was asked not to, and Warning if the operator is blocked.
func readyEventType(reason string) string {
	switch reason {
	case v1alpha1.ReasonAllVMsReady, v1alpha1.ReasonRolloutProgressing, v1alpha1.ReasonScalingUp, v1alpha1.ReasonScalingDown, v1alpha1.ReasonStarting, v1alpha1.ReasonStopping,
		v1alpha1.ReasonRepairing, v1alpha1.ReasonRestamping, v1alpha1.ReasonAdopting, v1alpha1.ReasonDeleting, v1alpha1.ReasonReleasing, v1alpha1.ReasonDeletionPending, v1alpha1.ReasonPaused, v1alpha1.ReasonMemberPaused:
		return corev1.EventTypeNormal
	}
	return corev1.EventTypeWarning
}

// policyEvent reports that policies refuse the group's spec, unless that stalls the group: then the Stalled event reports it.
func policyEvent(old, next v1alpha1.VmGroupStatus) []Event {
	was, is := meta.FindStatusCondition(old.Conditions, v1alpha1.ConditionPolicyCompliant), meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionPolicyCompliant)
	if is == nil || is.Status != metav1.ConditionFalse || (was != nil && was.Status == is.Status && was.Reason == is.Reason) {
		return nil
	}
	if stalled := meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionStalled); stalled != nil && stalled.Reason == is.Reason {
		return nil
	}
	return []Event{conditionEvent(corev1.EventTypeWarning, "CheckPolicy", is)}
}

// left returns the VMs that status no longer shows: those that were to leave, and others. A VM that still belongs to another group is in neither. A replaced VM is in neither if
// update is not nil, because the events of the update report it.
func left(old v1alpha1.VmGroupStatus, there map[int32]bool, update *v1alpha1.Rollout) (removed, vanished []string) {
	for _, vm := range old.VMs {
		switch {
		case there[vm.Ordinal] || vm.MoRef == "" || vm.Phase == v1alpha1.VMAdopting:
		case (vm.Phase == v1alpha1.VMDeleting || slices.Contains(old.Deleting, vm.Ordinal)) && update != nil && slices.Contains(update.From, vm.Revision):
		case vm.Phase == v1alpha1.VMDeleting || slices.Contains(old.Deleting, vm.Ordinal):
			removed = append(removed, vm.Name)
		default:
			vanished = append(vanished, vm.Name)
		}
	}
	return removed, vanished
}

func byOrdinal(vms []v1alpha1.VMStatus) map[int32]v1alpha1.VMStatus {
	out := make(map[int32]v1alpha1.VMStatus, len(vms))
	for _, vm := range vms {
		out[vm.Ordinal] = vm
	}
	return out
}

// vmEvents names VMs without their references, so that repeated changes of a VM form one series of equal events.
func vmEvents(old, next v1alpha1.VmGroupStatus) []Event {
	before := byOrdinal(old.VMs)
	after, update := map[int32]bool{}, underWay(&old, &next)
	var created, adopting, adopted, replaced, lost []string
	for _, vm := range next.VMs {
		after[vm.Ordinal] = true
		was, existed := before[vm.Ordinal]
		switch {
		case vm.Phase == v1alpha1.VMAdopting:
			if was.MoRef != vm.MoRef {
				adopting = append(adopting, vm.Name+" ("+vm.Message+")")
			}
		case was.Phase == v1alpha1.VMAdopting && was.MoRef == vm.MoRef:
			adopted = append(adopted, vm.Name)
		case was.Replaces != nil && was.Replaces.MoRef == vm.MoRef: // the lost VM was found: condition VMsLost names it
		case vm.MoRef != "" && was.MoRef != vm.MoRef:
			if update == nil || vm.Revision != update.Revision { // otherwise the update reports it
				created = append(created, vm.Name)
			}
		case existed && vm.Incarnation > was.Incarnation && !slices.Contains(old.Deleting, vm.Ordinal):
			replaced = append(replaced, vm.Name)
		case existed && vm.Phase == v1alpha1.VMLost && was.Phase != v1alpha1.VMLost:
			lost = append(lost, vm.Name)
		}
	}
	exchange := update
	if !replaces(&next) {
		exchange = nil
	}
	removed, vanished := left(old, after, exchange)
	var out []Event
	tell := func(eventType, reason, action, format string, names []string) {
		if len(names) > 0 {
			out = append(out, Event{Type: eventType, Reason: reason, Action: action, Note: fmt.Sprintf(format, list(names, 8)), Handled: true})
		}
	}
	tell(corev1.EventTypeWarning, v1alpha1.EventVMsLost, "Observe", "VMs are not found any more; waiting for vCenter to confirm: %s", lost)
	tell(corev1.EventTypeWarning, v1alpha1.EventVMsReplaced, "Repair", "VMs were deleted outside of the operator and are replaced: %s", replaced)
	tell(corev1.EventTypeNormal, v1alpha1.EventVMsAdopting, "Adopt", "taking over %s", adopting)
	tell(corev1.EventTypeNormal, v1alpha1.EventVMsAdopted, "Adopt", "took over %s", adopted)
	tell(corev1.EventTypeNormal, v1alpha1.EventVMsCreated, "Clone", "created %s", created)
	tell(corev1.EventTypeWarning, v1alpha1.EventVMsVanished, "Observe", "Surplus VMs were deleted outside the operator: %s", vanished)
	tell(corev1.EventTypeNormal, v1alpha1.EventVMsRemoved, "Delete", "removed %s", removed)
	return out
}
