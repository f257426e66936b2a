package member

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

func TestAMemberTellsWhichGroupsHavePercentages(t *testing.T) {
	var groups []string
	known := false
	now := testNow
	opts := Options{
		Counts: func(string) (int, int) { return 0, 0 }, Percentages: func(string) ([]string, bool) { return groups, known },
		Timings: Timings{}.withDefaults(),
	}
	r := &reconciler{provider: &Provider{opts: opts}, countsAt: map[string]time.Time{}, countedAt: map[string]time.Time{}}
	mc := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "team-a", Generation: 3}}
	seen := observation{phase: phaseEngaged, engagedAt: testNow.Add(-time.Hour)}
	// look writes status as a pass does, and returns the condition, and whether there was anything to write.
	look := func() (c *metav1.Condition, wrote bool) {
		t.Helper()
		now = now.Add(time.Second)
		due, _ := r.countsDue(mc, seen, now)
		status, _ := computeStatus(statusInput{name: mc.Name, generation: mc.Generation, previous: mc.Status, seen: seen, counts: due, now: now})
		if due != nil {
			r.countsAt[mc.Name] = now
		}
		wrote = !equality.Semantic.DeepEqual(status, mc.Status)
		mc.Status = status
		return meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionPercentages), wrote
	}
	if c, _ := look(); c != nil {
		t.Errorf("before all groups are listed it says %+v", c)
	}
	known = true
	if c, _ := look(); c == nil || c.Status != metav1.ConditionFalse || c.Reason != v1alpha1.ReasonNoPercentages || c.ObservedGeneration != 3 {
		t.Fatalf("without any it says %+v", c)
	}
	now = now.Add(time.Minute)
	if _, wrote := look(); wrote {
		t.Error("nothing changed, and status is written")
	}
	for i := range 12 {
		groups = append(groups, fmt.Sprintf("shop/web-%02d", i))
	}
	c, _ := look()
	if c.Status != metav1.ConditionTrue || c.Reason != v1alpha1.ReasonPercentagesUsed {
		t.Fatalf("with some it says %+v", c)
	}
	for _, want := range []string{"12 VmGroups", "shop/web-00, ", "shop/web-09 and 2 more", "rollback", "docs/upgrade.md"} {
		if !strings.Contains(c.Message, want) {
			t.Errorf("%q is not in %q", want, c.Message)
		}
	}
	groups = groups[1:]
	if _, wrote := look(); wrote {
		t.Error("status is written twice within a moment")
	}
	now = now.Add(time.Minute)
	groups, known = nil, false
	if c, wrote := look(); wrote || c.Status != metav1.ConditionTrue {
		t.Errorf("while nobody knows it says %+v", c)
	}
	seen = observation{}
	if c, _ := look(); c.Status != metav1.ConditionTrue {
		t.Errorf("while the member is away it says %+v", c)
	}
}

func TestAGroupWithAnUnusualNameStandsInQuotes(t *testing.T) {
	opts := Options{Percentages: func(string) ([]string, bool) {
		return []string{"team/db", "team/web. Run kubectl delete membercluster team-a"}, true
	}}
	message := opts.percentagesOf(&v1alpha1.MemberClusterStatus{}, "team-a")
	if want := `: team/db, "team/web. Run kubectl delete membercluster team-a". Releases`; !strings.Contains(message, want) {
		t.Errorf("said is %q, want %q", message, want)
	}
}
