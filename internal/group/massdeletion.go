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

// MassDeletion is what decides whether VMs that are to leave may go, besides the group itself. The zero value lets all go.
type MassDeletion struct {
	Rules massdeletion.Rules
	Limit massdeletion.Limit
	// Trips is true while the removals of this group and of others are too many.
	Trips bool
	// AllowedUntil is the time until which a hub administrator lets all removals of the member pass, or zero.
	AllowedUntil time.Time
	// NamespaceUID is that of the group's namespace, or empty while it is not known. NamespaceConfirms is the value of the annotation
	// that confirms what its groups remove.
	NamespaceUID, NamespaceConfirms string
}

// Removes reports whether VMs are to leave because the group is deleted or wants fewer, as far as status knows or vCenter shows.
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

// removal says why VMs that are to leave are kept, or nil, and since when all of them are to leave, or zero.
func (s *Snapshot) removal() (hold *plan.RemovalHold, since time.Time) {
	if hold = s.sweptHold(); hold == nil {
		hold = s.keepHold()
	}
	if hold != nil {
		return hold, time.Time{}
	}
	return s.breaker()
}

// breaker is the part of removal that looks at other groups of the member, too. A group that is deleted, or wants
// none, keeps its VMs until every replica has seen what else leaves; then, and whenever a group shrinks, it is seen whether that is too much. A group
// that has vanished is new, and nobody could confirm anything for it. One that is paused removes nothing, so that no time runs for it.
func (s *Snapshot) breaker() (hold *plan.RemovalHold, since time.Time) {
	m, own := s.MassDeletion, massdeletion.Of(s.Group)
	if s.Paused != nil || m.Rules == (massdeletion.Rules{}) || s.Vanished || s.confirmed() || s.crdConfirmed() || m.Limit.Off() || !own.Guarded(s.Now, m.Rules.Age) || !s.Removes() {
		return nil, time.Time{}
	}
	held := false
	if own.RemovesAll() {
		since, held = s.removing()
		// What was held goes when somebody says so, and not when the others have been dealt with.
		if until := since.Add(m.Rules.Wait); !held && s.Now.Before(until) {
			return &plan.RemovalHold{Blocker: s.deletionPending(until), Until: until}, since
		}
	}
	if !held && !m.Trips {
		return nil, since
	}
	return &plan.RemovalHold{Blocker: s.massDeletion(own), Until: s.Now.Add(unwatchedInterval)}, since
}

// removing reports since when all VMs are to leave, and whether that was held as part of a mass deletion. It is what status says, so that it is the same
// for whoever takes the group over. The time of deletion is by the clock of another, and a group that is scaled to zero has none.
func (s *Snapshot) removing() (since time.Time, held bool) {
	now := s.Now.Add(time.Second - 1).Truncate(time.Second) // the API keeps whole seconds, and to wait for less would be too little
	is := meta.FindStatusCondition(s.Group.Status.Conditions, v1alpha1.ConditionRemoving)
	if is == nil {
		return now, false
	}
	if since = is.LastTransitionTime.Time; since.After(now.Add(s.MassDeletion.Rules.Wait)) {
		since = now // nobody is to wait for a time that is made up
	}
	return since, is.Reason == v1alpha1.ReasonMassDeletion
}

// deletionPending tells that VMs are kept for a few seconds.
func (s *Snapshot) deletionPending(until time.Time) plan.Blocker {
	what, keep := "spec.replicas is 0", ""
	if s.deleting() {
		what, keep = "the VmGroup is being deleted", ". To keep them: "+s.toKeep()
	}
	return plan.Blocker{Reason: v1alpha1.ReasonDeletionPending, Message: fmt.Sprintf(
		"%s: its VMs are kept until %s, to see whether many other groups of member cluster %q lose theirs, too. Otherwise they go then%s%s",
		what, until.UTC().Format("15:04:05 UTC"), s.Member, keep, s.confirmsNothing())}
}

// massDeletion tells that VMs are kept until somebody says what shall become of them.
func (s *Snapshot) massDeletion(own massdeletion.Group) plan.Blocker {
	what := fmt.Sprintf("More VMs of member cluster %q are to be removed at once than spec.massDeletion.maxVMs of its MemberCluster lets go unasked (%s). "+
		"That may be an accident, so this group keeps its VMs, and nothing is done to them", s.Member, s.MassDeletion.Limit)
	confirm := fmt.Sprintf("kubectl annotate vmgroup %s -n %s %s=%s --overwrite", s.Group.Name, s.Group.Namespace, v1alpha1.ConfirmDeletionAnnotation, s.Group.UID)
	if uid := s.MassDeletion.NamespaceUID; uid != "" {
		confirm += fmt.Sprintf(", or for all VmGroups of the namespace: kubectl annotate namespace %s %s=%s --overwrite", s.Group.Namespace, v1alpha1.ConfirmDeletionAnnotation, uid)
	}
	message := fmt.Sprintf("%s. If the removal is meant: %s. The platform team can let all of the member pass, on the hub: %s%s%s",
		what, confirm, massdeletion.AllowCommand(s.Member), s.otherwise(own), s.confirmsNothing())
	return plan.Blocker{
		Reason: v1alpha1.ReasonMassDeletion, Message: message, Terminal: true,
		Brief: fmt.Sprintf("MemberCluster %q: more VMs are to be removed at once than spec.massDeletion.maxVMs allows", s.Member),
	}
}

// otherwise tells how the VMs are kept for good. A deletionTimestamp is never taken back, so a deleted group goes without them.
func (s *Snapshot) otherwise(own massdeletion.Group) string {
	if s.deleting() {
		return fmt.Sprintf(". If it is not, keep the VMs; a new VmGroup can adopt them: %s", s.toKeep())
	}
	return fmt.Sprintf(". If it is not, set spec.replicas back: kubectl scale vmgroup %s -n %s --replicas=%d", s.Group.Name, s.Group.Namespace, own.Existing)
}

// confirmsNothing tells of confirmations that are those of another object, or is empty.
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

// setRemoving tells that all VMs are to leave, and since when that is known. While nobody knows what is there, or somebody asked that nothing is done, it
// stays as it is.
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
		return // what was held is held again when the annotation is removed
	case f.RemovingSince.IsZero(), len(f.Plan.VMs) == 0:
		drop(s, is.Type)
		return
	case old != nil && old.LastTransitionTime.After(f.RemovingSince):
		drop(s, is.Type) // or its time would stay
	}
	meta.SetStatusCondition(&s.Conditions, is)
}

// heldBefore reports whether VMs of a group were held for a reason that an annotation which keeps VMs replaces for a while. To set such an annotation confirms
// nothing.
func (f Facts) heldBefore(reason string) bool {
	switch reason {
	case v1alpha1.ReasonMassDeletion:
		return f.asksToKeep() || f.Keeps
	case v1alpha1.ReasonCRDTerminating:
		return f.Keeps
	}
	return false
}
