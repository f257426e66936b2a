package member

import (
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/credential"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/group/allowance"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
	"github.com/codeconnect/vmgroup-operator/internal/group/orphans"
)

// admissionCondition is the condition AdmissionReady. in.admission is true.
func admissionCondition(in statusInput) metav1.Condition {
	before := meta.FindStatusCondition(in.previous.Conditions, v1alpha1.ConditionAdmissionReady)
	found := in.seen.Admission
	away := in.config != nil || in.seen.Problem != nil || found != nil && found.Status == metav1.ConditionUnknown
	switch {
	case away && behind(in):
		return metav1.Condition{
			Type: v1alpha1.ConditionAdmissionReady, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonCABundleBehind,
			Message: "The member cannot be reached and does not know the current certificate authority of the hub's webhook. It " +
				"learns it as soon as it answers; see condition Ready.",
		}
	case found != nil && in.config == nil && (in.seen.Problem == nil || found.Status != metav1.ConditionUnknown || before == nil):
		return metav1.Condition{
			Type: v1alpha1.ConditionAdmissionReady, Status: found.Status, Reason: found.Reason, Message: found.Message,
		}
	case before != nil && before.Reason != v1alpha1.ReasonCABundleBehind:
		return *before
	}
	return metav1.Condition{
		Type: v1alpha1.ConditionAdmissionReady, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonAdmissionPending,
		Message: "The admission objects were not installed yet; see condition Ready.",
	}
}

// behind reports whether the member acknowledged another CA bundle than it should have. A member without a webhook is never
// behind.
func behind(in statusInput) bool {
	acknowledged := in.previous.CABundleHash
	if in.seen.Acknowledged != nil && in.config == nil {
		acknowledged = *in.seen.Acknowledged
	}
	return acknowledged != "" && in.caBundle != "" && acknowledged != in.caBundle
}

// setCredentials reports when credentials expire. The hub itself has none.
func setCredentials(status *v1alpha1.MemberClusterStatus, in statusInput) {
	status.Credentials = credential.Status(in.held)
	switch {
	case in.name == v1alpha1.LocalMember:
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionCredentialsValid)
	case len(in.held) > 0:
		set(status, in, credential.Condition(in.held, attemptsOf(in), in.now))
	case in.config != nil:
		set(status, in, metav1.Condition{Type: v1alpha1.ConditionCredentialsValid, Status: metav1.ConditionUnknown, Reason: in.config.Reason,
			Message: "The kubeconfig could not be read; see condition Ready."})
	}
}

// attemptsOf returns what the connection knows of the tokens.
func attemptsOf(in statusInput) credential.Attempts {
	attempts := credential.Attempts{Failed: in.seen.Renewal}
	if p := in.seen.Problem; in.config == nil && p != nil && p.Reason == v1alpha1.ReasonUnauthorized {
		attempts.Rejected = apierrors.IsUnauthorized(p.Cause)
	}
	return attempts
}

// setMassDeletion reports how many groups and VMs are held.
func setMassDeletion(status *v1alpha1.MemberClusterStatus, in statusInput) {
	if status.HeldGroups == 0 {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionMassDeletion)
		return
	}
	set(status, in, metav1.Condition{
		Type: v1alpha1.ConditionMassDeletion, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonRemovalsHeld, Message: fmt.Sprintf(
			"%d VMs of %d VmGroups are to be removed and are held, because so many at once may be an accident; each group has the command that continues its own removals. "+
				"To let all of them pass: %s", status.HeldVMs, status.HeldGroups, massdeletion.AllowCommand(in.name)),
	})
}

// held takes the counts of groups whose removals are held.
func (c *counts) held(member string, held massdeletion.Held) {
	c.heldGroups, c.heldVMs, c.swept = held.Groups, held.VMs, ""
	if held.SweptGroups > 0 {
		c.swept = fmt.Sprintf("%d VmGroups with %d VMs are deleted because their CRD was deleted in the member. The operator keeps their VMs until you decide about each, also when the CRD exists again. "+
			"In the member, the condition Ready of each VmGroup has the commands with its UID. "+
			"To keep the VMs: kubectl annotate vmgroup NAME -n NAMESPACE --overwrite %s=UID; then a new VmGroup with annotation %s=UID adopts them. "+
			"To destroy the VMs of one VmGroup or of one namespace: set annotation %s of the VmGroup or of the namespace to its own UID. "+
			"To destroy the VMs of all of them, on the hub: %s",
			held.SweptGroups, held.SweptVMs, v1alpha1.ReleaseAnnotation, v1alpha1.AdoptAnnotation, v1alpha1.ConfirmDeletionAnnotation, massdeletion.AllowCommand(member))
	}
}

func sweptMessage(status *v1alpha1.MemberClusterStatus) string {
	if c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionCRDDeletion); c != nil {
		return c.Message
	}
	return ""
}

// setCRDDeletion reports groups that are held because their CRD was deleted.
func setCRDDeletion(status *v1alpha1.MemberClusterStatus, in statusInput) {
	switch {
	case in.counts == nil: // it stays unchanged
	case in.counts.swept == "":
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionCRDDeletion)
	default:
		set(status, in, metav1.Condition{Type: v1alpha1.ConditionCRDDeletion, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonRemovalsHeld, Message: in.counts.swept})
	}
}

// allowanceProblem names the annotations that do not have their intended effect, or is "". again is when the first of them will, or
// zero.
func allowanceProblem(mc *v1alpha1.MemberCluster, now time.Time) (problem string, again time.Time) {
	return allowance.Problem("membercluster", mc, now,
		v1alpha1.AllowMassDeletionAnnotation, v1alpha1.AllowAdoptionAnnotation, v1alpha1.AllowForgetAnnotation, v1alpha1.AcceptAdmittedAnnotation)
}

// setAllowances reports invalid annotations that allow something for a limited time.
func setAllowances(status *v1alpha1.MemberClusterStatus, in statusInput) {
	if in.allowanceProblem == "" {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionInvalidAllowances)
		return
	}
	set(status, in, metav1.Condition{Type: v1alpha1.ConditionInvalidAllowances, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonAllowanceInvalid, Message: in.allowanceProblem})
}

// restoredFor is how long condition StorageRestored stays: long enough for an administrator to read it after a night.
const restoredFor = 24 * time.Hour

// setRestored keeps condition StorageRestored for a day after the last detected restore.
func setRestored(status *v1alpha1.MemberClusterStatus, in statusInput) {
	if at := in.seen.RestoredAt; !at.IsZero() && in.now.Sub(at) < restoredFor {
		condition := metav1.Condition{
			Type: v1alpha1.ConditionStorageRestored, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonRevisionWentBack,
			ObservedGeneration: in.generation, LastTransitionTime: metav1.NewTime(at.Truncate(time.Second)),
			Message: fmt.Sprintf("At %s the member's API server answered with an older revision than before: its etcd came back from a backup. "+
				"All VmGroups were read anew, and their VMs stay. Compare the specs of VmGroups with what was changed since the backup; "+
				"docs/runbooks/restore.md has the other steps. This condition is removed after a day.", at.UTC().Format(time.RFC3339)),
		}
		if before := meta.FindStatusCondition(status.Conditions, condition.Type); before != nil && before.Message != condition.Message {
			meta.RemoveStatusCondition(&status.Conditions, condition.Type) // another restore
		}
		meta.SetStatusCondition(&status.Conditions, condition)
		return
	}
	if restoredLeft(status, in.now) <= 0 {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionStorageRestored)
	}
}

// restoredLeft is the remaining time of condition StorageRestored; zero or less if there is none.
func restoredLeft(status *v1alpha1.MemberClusterStatus, now time.Time) time.Duration {
	condition := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionStorageRestored)
	if condition == nil {
		return 0
	}
	return condition.LastTransitionTime.Add(restoredFor).Sub(now)
}

// orphansAgain is the interval at which a member with condition OrphanedVMs checks whether its lack of orphans is certain. The fleet
// delivers the member when the orphans change, but not when they become certain.
const orphansAgain = 10 * time.Second

// orphaned are the deleted groups of a member that have VMs. known is false while the list can be incomplete.
type orphaned struct {
	groups []orphans.Group
	known  bool
}

// orphansOf returns the orphans of a member, and when to check again whether there are none, or zero.
func orphansOf(of *fleet.Fleet, status *v1alpha1.MemberClusterStatus, member string) (is orphaned, again time.Duration) {
	is.groups, is.known = of.Orphans(member)
	if !is.known && meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionOrphanedVMs) != nil {
		again = orphansAgain
	}
	return is, again
}

// setOrphans reports the VMs of the member that have no VmGroup. The condition stays while the orphans are unknown.
func setOrphans(status *v1alpha1.MemberClusterStatus, in statusInput) {
	switch {
	case len(in.orphaned.groups) > 0:
		set(status, in, metav1.Condition{Type: v1alpha1.ConditionOrphanedVMs, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonGroupGone, Message: fmt.Sprintf(
			"%d VMs of %d VmGroups that do not exist any more are in vCenter: %s. If the member's etcd came back from a backup, the groups were newer than it. %s",
			orphans.Count(in.orphaned.groups), len(in.orphaned.groups), orphans.Describe(in.orphaned.groups), orphans.WayOut(in.orphaned.groups))})
	case in.orphaned.known:
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionOrphanedVMs)
	}
}
