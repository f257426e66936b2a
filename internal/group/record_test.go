package group

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
)

// withRecord is a group in the state of its spec, also on record, that then gets another CPU.
func withRecord(t *testing.T) (s *Snapshot, before v1alpha1.Admitted) {
	t.Helper()
	s = ours()
	s.Quota, s.Recorded, s.Folder = &QuotaAnswer{Granted: true}, nil, &v1alpha1.FolderStatus{Path: "/x", MoRef: "group-v1"}
	d := Decide(s)
	if d.Step != PutRecord {
		t.Fatalf("the step is %s", d.Step)
	}
	before = *d.Record
	s.Believe(Record{Admitted: &before})
	s.Group.Status.Admitted = &before
	s.Group.Spec.CPU++
	s.Revision = plan.Revision(s.Group.Spec)
	return s, before
}

func TestWhatIsAdmittedToAPausedGroupIsNeitherRecordedNorShownUntilItIsResumed(t *testing.T) {
	s, before := withRecord(t)
	s.Paused = &plan.Blocker{Reason: v1alpha1.ReasonPaused, Message: "paused"}
	d := Decide(s)
	if d.Step != Act || d.Record != nil || d.Status == nil || *d.Status.Admitted != before {
		t.Fatalf("the step is %s, the record %+v, and status %+v", d.Step, d.Record, d.Status)
	}
	if c := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionPolicyCompliant); c == nil || c.Status != "True" {
		t.Errorf("it says %+v", c)
	}
	s.Paused = nil
	if d := Decide(s); d.Step != PutRecord || d.Record.CPU != before.CPU+1 {
		t.Errorf("resumed, the step is %s, the record %+v", d.Step, d.Record)
	}
}

// TestALostRecordOfAPausedGroupIsWrittenAnew: it has no news, but without it the group's entitlement is unknown.
func TestALostRecordOfAPausedGroupIsWrittenAnew(t *testing.T) {
	s, before := withRecord(t)
	s.Group.Spec.CPU, s.Paused = before.CPU, &plan.Blocker{Reason: v1alpha1.ReasonPaused, Message: "paused"}
	s.Revision = before.Revision
	s.Believe(Record{})
	if d := Decide(s); d.Step != PutRecord || *d.Record != before {
		t.Errorf("the step is %s, the record %+v", d.Step, d.Record)
	}
}

// TestARecordFromABackupIsCorrectedBeforeAClaimWaits: the write that the claim waits for counts the record. While the
// record exceeds what the group releases, the claim is never answered.
func TestARecordFromABackupIsCorrectedBeforeAClaimWaits(t *testing.T) {
	for name, c := range map[string]struct {
		change    func(*Snapshot)
		corrected bool
	}{
		"the record has more":               {func(*Snapshot) {}, true},
		"the cache may be behind":           {func(s *Snapshot) { s.Quota.Returned = false }, false},
		"the record was put in this pass":   {func(s *Snapshot) { s.Recorded = &RecordAnswer{} }, false},
		"the group is paused":               {func(s *Snapshot) { s.Paused = &plan.Blocker{Reason: v1alpha1.ReasonPaused} }, false},
		"the record has what is admitted":   {func(s *Snapshot) { s.Believe(Record{Admitted: s.Group.Status.Admitted}) }, false},
		"there is no record":                {func(s *Snapshot) { s.Believe(Record{}) }, false},
		"the record cannot be read for now": {func(s *Snapshot) { s.Believe(Record{Unread: "not read yet"}) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, before := withRecord(t)
			restored := before
			restored.Replicas += 2
			s.Believe(Record{Admitted: &restored})
			s.Quota = &QuotaAnswer{Waiting: true, Returned: true}
			c.change(s)
			if d := Decide(s); (d.Step == PutRecord) != c.corrected || c.corrected && *d.Record != before {
				t.Errorf("the step is %s, the record %+v, want %+v", d.Step, d.Record, before)
			}
		})
	}
}

func TestAGroupWhoseRecordWaitsDoesNothingAndSaysWhyAfterAWhile(t *testing.T) {
	s, before := withRecord(t)
	s.Recorded = &RecordAnswer{Wait: 3 * time.Second, Since: noon}
	if d := Decide(s); d.Step != Wait || d.After != 3*time.Second {
		t.Errorf("the step is %s, and the group is enqueued again after %s", d.Step, d.After)
	}
	s.Now = noon.Add(blindPatience)
	s.Group.Status.Conditions = append(s.Group.Status.Conditions, Decide(recordedNow(t)).Status.Conditions...)
	d := Decide(s)
	if d.Step != Report || d.Status == nil || *d.Status.Admitted != before || len(d.Plan.Actions) != 0 || d.After != 3*time.Second {
		t.Fatalf("the step is %s, after %s, status %+v", d.Step, d.After, d.Status)
	}
	ready := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionReady)
	if ready.Reason != v1alpha1.ReasonHubWriteDelayed || !strings.Contains(ready.Message, "limited") {
		t.Errorf("it says %+v", ready)
	}
	if c := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionPolicyCompliant); c == nil || c.Status != "True" {
		t.Errorf("of policies it says %+v", c)
	}
}

// recordedNow is a group in the state of its spec.
func recordedNow(t *testing.T) *Snapshot {
	t.Helper()
	s, before := withRecord(t)
	s.Group.Spec.CPU, s.Revision = before.CPU, before.Revision
	return s
}

// A paused group already has a record, because a group that is paused from its creation is recorded once.
func TestEditsOfAPausedGroupAreReportedOnceInTenSecondsAndItsResumptionAtOnce(t *testing.T) {
	s, _ := withRecord(t)
	s.Paused = &plan.Blocker{Reason: v1alpha1.ReasonPaused, Message: "paused"}
	decide := func(after time.Duration) Decision {
		s.Now = noon.Add(after)
		d := Decide(s)
		if d.Status != nil {
			s.Group.Status, s.Reported = *d.Status, s.Now
		}
		return d
	}
	edit := func(after time.Duration) Decision {
		s.Group.Generation, s.Group.Spec.CPU = s.Group.Generation+1, s.Group.Spec.CPU%4+1
		s.Revision = plan.Revision(s.Group.Spec)
		return decide(after)
	}
	if d := decide(0); d.Status == nil {
		t.Fatalf("that it is paused is not written: %+v", d)
	}
	if d := edit(3 * time.Second); d.Status != nil || d.After != 7*time.Second {
		t.Errorf("an edit 3 seconds after a report writes %+v, and the group is enqueued again after %s", d.Status, d.After)
	}
	if d := edit(11 * time.Second); d.Status == nil || d.Status.ObservedGeneration != s.Group.Generation {
		t.Errorf("an edit 11 seconds after a report is not written: %+v", d)
	}
	s.Paused = nil
	s.Recorded = &RecordAnswer{}
	if d := decide(12 * time.Second); d.Status == nil {
		t.Errorf("the end of the pause is not written at once: %+v", d)
	}
}
