package group

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group/allowance"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// Record is what the hub has on record of a group. What status says was admitted is only what the API server of a member says.
type Record struct {
	// Admitted is what was admitted last, or nil when there is no record.
	Admitted *v1alpha1.Admitted
	// Unread says why records cannot be read, or is empty.
	Unread string
	// Accepted is true while a hub administrator accepts what status says of groups without a record.
	Accepted bool
}

// Believe makes Admitted of a record. Status can only lower it: a record from a backup of the hub, or a late write of a former
// owner, may have more replicas than were admitted last.
func (s *Snapshot) Believe(r Record) {
	s.record, s.Admitted = r, nil
	shown := s.Group.Status.Admitted
	switch {
	case r.Unread != "":
	case r.Admitted != nil:
		if s.Admitted = r.Admitted.DeepCopy(); shaped(shown) {
			s.Admitted.Replicas = min(s.Admitted.Replicas, max(shown.Replicas, 0))
		}
	case r.Accepted && shaped(shown):
		s.Admitted = shown.DeepCopy()
	}
}

// unrecorded says what to do if status shows something admitted that the hub has no record of; it is empty otherwise.
func (s *Snapshot) unrecorded() string {
	shown := s.Group.Status.Admitted
	if s.Admitted != nil || s.record.Unread != "" || !shaped(shown) {
		return ""
	}
	return fmt.Sprintf("The hub has no record of what status.admitted shows (%s). If it is right, the platform team accepts what all groups of MemberCluster %q show, for at most an hour: %s",
		policy.Describe(*shown), s.Member, allowance.Command("membercluster", s.Member, v1alpha1.AcceptAdmittedAnnotation))
}

// RecordAnswer is what became of putting a record: it is stored, or there is no room for it, or it waits.
type RecordAnswer struct {
	// Wait is after what time it is to be put again, or zero. Since is from when on it waits.
	Wait  time.Duration
	Since time.Time
}

// delayed reports whether what an admission gives has no effect yet, since the hub has no record of it: the record waits, or the group is paused. Nothing
// is cloned meanwhile, and status shows what was admitted before.
func (s *Snapshot) delayed(a policy.Admission) bool {
	return s.news(a) && (s.Paused != nil && s.record.Admitted != nil || s.Recorded != nil && s.Recorded.Wait > 0)
}

// toRecord is what the hub is to have on record of an admission before anything is done for it, or nil if it has it, or was asked. Of a paused group that
// has a record nothing is recorded until it is resumed, so that edits of it cause no write on the hub.
func (s *Snapshot) toRecord(a policy.Admission) *v1alpha1.Admitted {
	if s.Recorded != nil || !s.news(a) || s.delayed(a) {
		return nil
	}
	return a.Admitted
}

// correction is what replaces a record that has more than status, as one from a backup of the hub, or nil. A claim waits
// for a write of the ledger, and that write counts what is on record. While the record has more than the group, each write
// enters what the next pass gives back, and the claim is never answered. A cache that is behind corrects nothing.
func (s *Snapshot) correction() *v1alpha1.Admitted {
	if !s.Quota.Returned || s.Recorded != nil || s.Paused != nil || !shaped(s.record.Admitted) || !shaped(s.Admitted) || s.Admitted.Replicas >= s.record.Admitted.Replicas {
		return nil
	}
	return s.Admitted
}

// news reports whether an admission is not what the hub has on record.
func (s *Snapshot) news(a policy.Admission) bool {
	return a.Reason != "" && shaped(a.Admitted) && s.record.Unread == "" && !equality.Semantic.DeepEqual(a.Admitted, s.record.Admitted)
}

// waitForRecord does nothing until the record is stored, and says so if that takes long.
func (s *Snapshot) waitForRecord() Decision {
	if s.Now.Sub(s.Recorded.Since) < blindPatience {
		return Decision{Step: Wait, After: s.Recorded.Wait}
	}
	return s.waits(plan.Blocker{Reason: v1alpha1.ReasonHubWriteDelayed, Message: fmt.Sprintf(
		"the change is allowed, and takes effect once the hub has a record of it. This VmGroup, or many of MemberCluster %q, changed often within a short time, "+
			"and the rate of records is limited. The operator retries", s.Member)}, s.Recorded.Wait)
}

// waitForLedger does nothing until the ledgers of quotas have answered, and says so if that takes long.
func (s *Snapshot) waitForLedger() Decision {
	if s.Quota.Wait < blindPatience {
		return Decision{Step: Wait, After: max(soon, s.Quota.Wait)}
	}
	return s.waits(plan.Blocker{Reason: v1alpha1.ReasonHubWriteDelayed, Message: fmt.Sprintf(
		"the change counts in a quota, and takes effect once the hub has written that down. Many VmGroups of MemberCluster %q changed within a short time, "+
			"and the rate of such writes is limited. The operator retries", s.Member)}, s.Quota.Wait)
}
