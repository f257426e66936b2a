package metrics_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/metrics"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
)

func TestMetricsFollowTheRulesOfNames(t *testing.T) {
	names := map[string]bool{}
	for _, d := range metrics.All() {
		if names[d.Name] || !strings.HasPrefix(d.Name, "vmgroup_") || d.Help == "" {
			t.Errorf("%s is defined twice, has another prefix, or no help", d.Name)
		}
		names[d.Name] = true
		if total := strings.HasSuffix(d.Name, "_total"); total != (d.Type == metrics.Counter) {
			t.Errorf("%s is a %s", d.Name, d.Type)
		}
		if (d.Type == metrics.Histogram) != (len(d.Buckets) > 0) {
			t.Errorf("%s is a %s with %d buckets", d.Name, d.Type, len(d.Buckets))
		}
		for _, label := range d.LabelNames() {
			if slices.Contains([]string{"namespace", "pod", "job", "instance", "name", "vm", "user", "host"}, label) {
				t.Errorf("%s has label %s", d.Name, label)
			}
		}
	}
}

// The values of labels are those that the planner writes.
func TestLabelsOfActionsAreThoseOfThePlanner(t *testing.T) {
	kinds, causes := make([]string, 0, len(plan.ActionKinds)), make([]string, 0, len(plan.Causes))
	for _, kind := range plan.ActionKinds {
		kinds = append(kinds, string(kind))
	}
	for _, cause := range plan.Causes {
		causes = append(causes, string(cause))
	}
	if !slices.Equal(kinds, metrics.ActionKinds) || !slices.Equal(causes, metrics.ActionCauses) {
		t.Errorf("the planner has %v for %v", kinds, causes)
	}
}
