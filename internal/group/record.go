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

// Record is the hub's record of a group. The admitted spec in status is only a claim of the member's API server.
type Record struct {
	// Admitted is the last admitted spec, or nil without a record.
	Admitted *v1alpha1.Admitted
	// Unread explains why records cannot be read, or is empty.
	Unread string
	// Accepted is true while a hub administrator accepts the status of groups without a record.
	Accepted bool
}

// Believe sets Admitted from a record. Status can only lower it: a record from a backup of the hub, or a late write of a former owner, can have more replicas than the last
// admitted spec.
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

// unrecorded returns the remedy if status has an admitted spec without a record on the hub, or "".
func (s *Snapshot) unrecorded() string {
	shown := s.Group.Status.Admitted
	if s.Admitted != nil || s.record.Unread != "" || !shaped(shown) {
		return ""
	}
	return fmt.Sprintf("The hub has no record that the spec in status.admitted (%s) was admitted. If that spec is right, a hub administrator can have the hub accept status.admitted of all groups of MemberCluster %q for at most an hour: %s",
		policy.Describe(*shown), s.Member, allowance.Command("membercluster", s.Member, v1alpha1.AcceptAdmittedAnnotation))
}

// RecordAnswer is the result of storing a record: it is stored, or there is no room for it, or it waits.
type RecordAnswer struct {
	// Wait is the time until the next attempt, or zero. Since is the time since when the record waits.
	Wait  time.Duration
	Since time.Time
}

// delayed reports whether an admission has no effect yet, because the hub has no record of it: the record waits, or the group is paused. No VM is cloned meanwhile, and status
// shows the earlier admitted spec.
func (s *Snapshot) delayed(a policy.Admission) bool {
	return s.news(a) && (s.Paused != nil && s.record.Admitted != nil || s.Recorded != nil && s.Recorded.Wait > 0)
}

// toRecord returns the admitted spec that the hub must record before any action for it. It returns nil if the hub has the record, or was asked. For a paused group with a record,
// it returns nil until the group is resumed, so that its edits cause no write on the hub.
func (s *Snapshot) toRecord(a policy.Admission) *v1alpha1.Admitted {
	if s.Recorded != nil || !s.news(a) || s.delayed(a) {
		return nil
	}
	return a.Admitted
}

// correction returns the replacement for a record that has more than status, such as one from a backup of the hub, or nil. A claim waits for a write of the ledger, and that
// write counts the record. While the record has more than the group, each write enters what the next pass gives back, and the claim is never answered. An outdated cache corrects
// nothing.
func (s *Snapshot) correction() *v1alpha1.Admitted {
	if !s.Quota.Returned || s.Recorded != nil || s.Paused != nil || !shaped(s.record.Admitted) || !shaped(s.Admitted) || s.Admitted.Replicas >= s.record.Admitted.Replicas {
		return nil
	}
	return s.Admitted
}

// news reports whether an admission differs from the hub's record.
func (s *Snapshot) news(a policy.Admission) bool {
	return a.Reason != "" && shaped(a.Admitted) && s.record.Unread == "" && !equality.Semantic.DeepEqual(a.Admitted, s.record.Admitted)
}

// waitForRecord waits until the record is stored, and reports that if it takes long.
func (s *Snapshot) waitForRecord() Decision {
	if s.Now.Sub(s.Recorded.Since) < blindPatience {
		return Decision{Step: Wait, After: s.Recorded.Wait}
	}
	return s.waits(plan.Blocker{Reason: v1alpha1.ReasonHubWriteDelayed, Message: fmt.Sprintf(
		"the change is allowed, and takes effect once the hub has a record of it. This VmGroup, or many of MemberCluster %q, changed often within a short time, "+
			"and the rate of records is limited. The operator retries", s.Member)}, s.Recorded.Wait)
}

// waitForLedger waits until the quota ledgers have answered, and reports that if it takes long.
func (s *Snapshot) waitForLedger() Decision {
	if s.Quota.Wait < blindPatience {
		return Decision{Step: Wait, After: max(soon, s.Quota.Wait)}
	}
	return s.waits(plan.Blocker{Reason: v1alpha1.ReasonHubWriteDelayed, Message: fmt.Sprintf(
		"the change counts in a quota, and takes effect once the hub has written that down. Many VmGroups of MemberCluster %q changed within a short time, "+
			"and the rate of such writes is limited. The operator retries", s.Member)}, s.Quota.Wait)
}
