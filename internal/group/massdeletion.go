package group

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group/allowance"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// MassDeletion has the facts outside of the group that decide whether its VMs can leave. The zero value allows all removals.
type MassDeletion struct {
	Rules massdeletion.Rules
	Limit massdeletion.Limit
	// Trips is true while the removals of this group and of others exceed the limit.
	Trips bool
	// AllowedUntil is the time until which a hub administrator allows all removals of the member, or zero.
	AllowedUntil time.Time
	// NamespaceUID is the UID of the group's namespace, or empty while it is unknown. NamespaceConfirms is the value of the annotation that confirms the removals of the
	// namespace's groups.
	NamespaceUID, NamespaceConfirms string
}

// Removes reports whether VMs are to leave because the group is deleted or wants fewer, according to status or vCenter.
func (s *Snapshot) Removes() bool {
	own := massdeletion.Of(s.Group)
	return s.deleting() || max(own.Existing, int(s.existing())+len(s.leaving)) > own.Wanted+own.Updates
}

// confirmed reports whether the removal of the group's VMs is confirmed: on the group, on its namespace, or by a hub administrator for the whole member.
func (s *Snapshot) confirmed() bool {
	m := s.MassDeletion
	allowed, _ := allowance.Counts(m.AllowedUntil, s.Now)
	return allowed || v1alpha1.DeletionConfirmed(s.Group) || m.NamespaceUID != "" && m.NamespaceConfirms == m.NamespaceUID
}

// removal explains why VMs that are to leave are kept, or returns nil. since is the time since when all of them are to leave, or zero.
func (s *Snapshot) removal() (hold *plan.RemovalHold, since time.Time) {
	if hold = s.sweptHold(); hold == nil {
		hold = s.keepHold()
	}
	if hold != nil {
		return hold, time.Time{}
	}
	return s.breaker()
}

// breaker is the part of removal that also checks other groups of the member. A group that is deleted, or wants no VMs, keeps its VMs until every replica has observed the other
// removals. Then, and whenever a group shrinks, the total is compared with the limit. A vanished group is exempt: it was new, and no user can confirm its removal any more. A
// paused group removes nothing, so its time does not run.
func (s *Snapshot) breaker() (hold *plan.RemovalHold, since time.Time) {
	m, own := s.MassDeletion, massdeletion.Of(s.Group)
	if s.Paused != nil || m.Rules == (massdeletion.Rules{}) || s.Vanished || s.confirmed() || s.crdConfirmed() || m.Limit.Off() || !own.Guarded(s.Now, m.Rules.Age) || !s.Removes() {
		return nil, time.Time{}
	}
	held := false
	if own.RemovesAll() {
		since, held = s.removing()
		// A held removal continues after a confirmation, and not when the other groups are done.
		if until := since.Add(m.Rules.Wait); !held && s.Now.Before(until) {
			return &plan.RemovalHold{Blocker: s.deletionPending(until), Until: until}, since
		}
	}
	if !held && !m.Trips {
		return nil, since
	}
	return &plan.RemovalHold{Blocker: s.massDeletion(own), Until: s.Now.Add(unwatchedInterval)}, since
}

// removing returns since when all VMs are to leave, and whether that was held as part of a mass deletion. Status is the source, so that every replica gets the same result. The
// deletion time uses another clock, and a group that is scaled to zero has none.
func (s *Snapshot) removing() (since time.Time, held bool) {
	now := s.Now.Add(time.Second - 1).Truncate(time.Second) // the API keeps whole seconds, and rounding down would shorten the wait
	is := meta.FindStatusCondition(s.Group.Status.Conditions, v1alpha1.ConditionRemoving)
	if is == nil {
		return now, false
	}
	if since = is.LastTransitionTime.Time; since.After(now.Add(s.MassDeletion.Rules.Wait)) {
		since = now // a made-up time must not delay the removal
	}
	return since, is.Reason == v1alpha1.ReasonMassDeletion
}

// deletionPending reports that VMs are kept for a few seconds.
func (s *Snapshot) deletionPending(until time.Time) plan.Blocker {
	what, keep := "spec.replicas is 0", ""
	if s.deleting() {
		what, keep = "the VmGroup is being deleted", ". To keep them: "+s.toKeep()
	}
	return plan.Blocker{Reason: v1alpha1.ReasonDeletionPending, Message: fmt.Sprintf(
		"%s: its VMs are kept until %s, to see whether many other groups of member cluster %q lose theirs, too. Otherwise they go then%s%s",
		what, until.UTC().Format("15:04:05 UTC"), s.Member, keep, s.confirmsNothing())}
}

// massDeletion reports that VMs are kept until a user decides about them.
func (s *Snapshot) massDeletion(own massdeletion.Group) plan.Blocker {
	what := fmt.Sprintf("More VMs of member cluster %q are to be removed at once than spec.massDeletion.maxVMs of its MemberCluster allows without confirmation (%s). "+
		"That may be an accident, so this group keeps its VMs, and nothing is done to them", s.Member, s.MassDeletion.Limit)
	confirm := fmt.Sprintf("kubectl annotate vmgroup %s -n %s %s=%s --overwrite", s.Group.Name, s.Group.Namespace, v1alpha1.ConfirmDeletionAnnotation, s.Group.UID)
	if uid := s.MassDeletion.NamespaceUID; uid != "" {
		confirm += fmt.Sprintf(", or for all VmGroups of the namespace: kubectl annotate namespace %s %s=%s --overwrite", s.Group.Namespace, v1alpha1.ConfirmDeletionAnnotation, uid)
	}
	message := fmt.Sprintf("%s. If the removal is meant: %s. A hub administrator can let all of the member pass, on the hub: %s%s%s",
		what, confirm, massdeletion.AllowCommand(s.Member), s.otherwise(own), s.confirmsNothing())
	return plan.Blocker{
		Reason: v1alpha1.ReasonMassDeletion, Message: message, Terminal: true,
		Brief: fmt.Sprintf("MemberCluster %q: more VMs are to be removed at once than spec.massDeletion.maxVMs allows", s.Member),
	}
}

// otherwise returns how to keep the VMs for good. A deletionTimestamp is never removed, so a group being deleted is deleted without its VMs.
func (s *Snapshot) otherwise(own massdeletion.Group) string {
	if s.deleting() {
		return fmt.Sprintf(". If it is not, keep the VMs; a new VmGroup can adopt them: %s", s.toKeep())
	}
	return fmt.Sprintf(". If it is not, set spec.replicas back: kubectl scale vmgroup %s -n %s --replicas=%d", s.Group.Name, s.Group.Namespace, own.Existing)
}

// confirmsNothing reports confirmations with the UID of another object, or returns "".
func (s *Snapshot) confirmsNothing() (told string) {
	for _, a := range []struct{ of, value, uid string }{
		{"the VmGroup", s.Group.Annotations[v1alpha1.ConfirmDeletionAnnotation], string(s.Group.UID)},
		{"its namespace", s.MassDeletion.NamespaceConfirms, s.MassDeletion.NamespaceUID},
	} {
		if a.value != "" && a.value != a.uid {
			told += fmt.Sprintf(". Annotation %s of %s is %q, which is the UID of another object and confirms nothing", v1alpha1.ConfirmDeletionAnnotation, a.of, untrusted.Text(a.value, 40))
		}
	}
	return told + s.keepsNothing()
}

// setRemoving reports that all VMs are to leave, and since when. It does not change the condition while the VMs are unknown or the group is paused.
func setRemoving(s *v1alpha1.VmGroupStatus, f Facts) {
	if f.Swept != nil {
		setSwept(s, f)
		return
	}
	is := metav1.Condition{
		Type: v1alpha1.ConditionRemoving, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonScalingDown, Message: "All VMs are being removed.",
		ObservedGeneration: f.Generation, LastTransitionTime: metav1.NewTime(f.RemovingSince),
	}
	if f.Deleting {
		is.Reason = v1alpha1.ReasonDeleting
	}
	if held := f.Plan.Held; held != nil {
		is.Reason, is.Message = held.Reason, untrusted.Text(held.Message, maxCondition)
	}
	switch old := meta.FindStatusCondition(s.Conditions, is.Type); {
	case !f.Complete, f.Paused != nil, f.Plan.StampedBy != "":
		return
	case old != nil && f.heldBefore(old.Reason) && len(f.Plan.VMs) > 0:
		return // a removed annotation restores the hold
	case f.RemovingSince.IsZero(), len(f.Plan.VMs) == 0:
		drop(s, is.Type)
		return
	case old != nil && old.LastTransitionTime.After(f.RemovingSince):
		drop(s, is.Type) // otherwise its time would stay
	}
	meta.SetStatusCondition(&s.Conditions, is)
}

// heldBefore reports whether VMs of a group were held for a reason that an annotation to keep VMs replaces temporarily. Such an annotation confirms nothing.
func (f Facts) heldBefore(reason string) bool {
	switch reason {
	case v1alpha1.ReasonMassDeletion:
		return f.asksToKeep() || f.Keeps
	case v1alpha1.ReasonCRDTerminating:
		return f.Keeps
	}
	return false
}
