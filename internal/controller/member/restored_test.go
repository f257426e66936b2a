package member

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/settings"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/shardingtest"
)

// revisions is an API server that says one revision after another, and the last one for ever; an empty one is an error.
func revisions(t *testing.T, of ...string) *remote.API {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("resourceVersion") || r.URL.Query().Get("limit") != "1" {
			t.Errorf("asked for %s", r.URL)
		}
		answer := of[0]
		if len(of) > 1 {
			of = of[1:]
		}
		if answer == "" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"kind":"VmGroupList","metadata":{"resourceVersion":%q},"items":[]}`, answer)
	}))
	t.Cleanup(server.Close)
	api, err := remote.New(&rest.Config{Host: server.URL}, testBounds(settings.Timings{}.WithDefaults()), new(shardingtest.Leader(true)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.End)
	return api
}

func testBounds(t settings.Timings) remote.Bounds {
	return remote.Bounds{Timeouts: t.Remote(), Guard: remote.NewGuard(remote.DefaultLimits(), remote.NewPace(remote.DefaultLimits()))}
}

func TestARestoredMemberIsNoticedByItsRevision(t *testing.T) {
	for _, test := range []struct {
		story string
		says  []string
		want  []bool
	}{
		{"nothing happens", []string{"10", "10", "11"}, []bool{false, false, false}},
		{"it comes back from a backup, and goes on from there", []string{"10", "7", "7", "8"}, []bool{false, true, false}},
		{"one answer is wrong", []string{"10", "7", "12", "9", "9"}, []bool{false, false, true}},
		{"it does not answer", []string{"10", "", "9", "9"}, []bool{false, false, true}},
		{"with a revision bump", []string{"10", "1000000007"}, []bool{false, false}},
	} {
		t.Run(test.story, func(t *testing.T) {
			p, err := NewProvider(settings.Options{Namespace: "operator", InstallationUID: "one", Fleet: newFleet()})
			if err != nil {
				t.Fatal(err)
			}
			c, api := newConnection(p, settings.Target{Name: "team-a"}, nil), revisions(t, test.says...)
			for i, want := range test.want {
				if got := c.lookBack(t.Context(), api, "uid"); got != want {
					t.Errorf("look %d: went back is %v", i, got)
				}
			}
			// A kubeconfig that leads to another cluster is no restore.
			if c.lookBack(t.Context(), revisions(t, "1"), "another") {
				t.Error("another cluster counts as a restored one")
			}
		})
	}
}

func TestARestoreIsSaidForADay(t *testing.T) {
	seen := engagedObservation()
	seen.restoredAt = testNow
	said := func(previous v1alpha1.MemberClusterStatus, seen observation, now time.Time) v1alpha1.MemberClusterStatus {
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
	// Another process leads by now.
	later := said(first, engagedObservation(), testNow.Add(23*time.Hour))
	if got := meta.FindStatusCondition(later.Conditions, v1alpha1.ConditionStorageRestored); got == nil || *got != *condition {
		t.Errorf("after 23 hours: %+v", got)
	}
	if left := restoredLeft(&later, testNow.Add(23*time.Hour)); left <= 0 || left > time.Hour {
		t.Errorf("it is looked at again in %s", left)
	}
	for name, seen := range map[string]observation{"the process that noticed": seen, "another one": engagedObservation()} {
		last := said(first, seen, testNow.Add(25*time.Hour))
		if got := meta.FindStatusCondition(last.Conditions, v1alpha1.ConditionStorageRestored); got != nil {
			t.Errorf("%s says after 25 hours: %+v", name, got)
		}
	}
	seen.restoredAt = testNow.Add(time.Hour)
	again := said(first, seen, testNow.Add(time.Hour))
	if got := meta.FindStatusCondition(again.Conditions, v1alpha1.ConditionStorageRestored); !got.LastTransitionTime.Time.Equal(seen.restoredAt.Truncate(time.Second)) {
		t.Errorf("a second restore is said to be of %s", got.LastTransitionTime)
	}
}
