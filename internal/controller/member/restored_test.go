package member

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/link"
)

func TestARestoreIsSaidForADay(t *testing.T) {
	seen := engagedObservation()
	seen.RestoredAt = testNow
	said := func(previous v1alpha1.MemberClusterStatus, seen link.Observation, now time.Time) v1alpha1.MemberClusterStatus {
		status, _ := computeStatus(statusInput{previous: previous, seen: seen, now: now})
		return status
	}
	first := said(v1alpha1.MemberClusterStatus{}, seen, testNow.Add(time.Second))
	condition := meta.FindStatusCondition(first.Conditions, v1alpha1.ConditionStorageRestored)
	if condition == nil || !strings.Contains(condition.Message, "2026-03-01T12:00:00Z") || !strings.Contains(condition.Message, "docs/runbooks/restore.md") {
		t.Fatalf("said is %+v", condition)
	}
	if !meta.IsStatusConditionTrue(first.Conditions, v1alpha1.ConditionReady) {
		t.Error("a restored member that is served is not ready")
	}
	// Another process leads now.
	later := said(first, engagedObservation(), testNow.Add(23*time.Hour))
	if got := meta.FindStatusCondition(later.Conditions, v1alpha1.ConditionStorageRestored); got == nil || *got != *condition {
		t.Errorf("after 23 hours: %+v", got)
	}
	if left := restoredLeft(&later, testNow.Add(23*time.Hour)); left <= 0 || left > time.Hour {
		t.Errorf("the member is checked again in %s, want an hour at most", left)
	}
	for name, seen := range map[string]link.Observation{"the process that noticed": seen, "another one": engagedObservation()} {
		last := said(first, seen, testNow.Add(25*time.Hour))
		if got := meta.FindStatusCondition(last.Conditions, v1alpha1.ConditionStorageRestored); got != nil {
			t.Errorf("%s says after 25 hours: %+v", name, got)
		}
	}
	seen.RestoredAt = testNow.Add(time.Hour)
	again := said(first, seen, testNow.Add(time.Hour))
	if got := meta.FindStatusCondition(again.Conditions, v1alpha1.ConditionStorageRestored); !got.LastTransitionTime.Time.Equal(seen.RestoredAt.Truncate(time.Second)) {
		t.Errorf("a second restore is said to be of %s", got.LastTransitionTime)
	}
}
