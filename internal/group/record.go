package group

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
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
	return fmt.Sprintf("The hub has no record of what status.admitted shows (%s). If it is right, the platform team accepts what all groups of MemberCluster %q show, for at most an hour: "+
		"kubectl annotate membercluster %s --overwrite %s=$(date -u -d '+10 minutes' +%%Y-%%m-%%dT%%H:%%M:%%SZ)", policy.Describe(*shown), s.Member, s.Member, v1alpha1.AcceptAdmittedAnnotation)
}

// toRecord is what the hub is to have on record of an admission, or nil if it has it.
func (s *Snapshot) toRecord(a policy.Admission) *v1alpha1.Admitted {
	if a.Reason == "" || !shaped(a.Admitted) || s.record.Unread != "" || equality.Semantic.DeepEqual(a.Admitted, s.record.Admitted) {
		return nil
	}
	return a.Admitted
}
