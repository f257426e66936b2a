package policy

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/policy/policymetrics"
)

func TestCountsStayUntilTheNextOnes(t *testing.T) {
	loose, tight := maxCPU("loose", 8, v1alpha1.PolicyMatch{}), maxCPU("tight", 2, v1alpha1.PolicyMatch{})
	r := newRig(t, loose, tight)
	r.cpus = map[string]int32{"a": 1, "b": 4}
	r.pass()
	counted := func() []policymetrics.Policy {
		return slices.SortedFunc(slices.Values(r.Counted()), func(a, b policymetrics.Policy) int { return strings.Compare(a.Name, b.Name) })
	}
	if got := counted(); !slices.Equal(got, []policymetrics.Policy{{Name: "loose", Matched: 2}, {Name: "tight", Matched: 2, Violations: 1}}) {
		t.Errorf("counted %+v", got)
	}
	for i, left := range []int{1, 0} {
		if err := r.Client.Delete(t.Context(), []*v1alpha1.VmGroupPolicy{loose, tight}[i]); err != nil {
			t.Fatal(err)
		}
		r.now = r.now.Add(time.Hour)
		r.pass()
		if got := counted(); len(got) != left {
			t.Errorf("with %d policies left counted %+v", left, got)
		}
	}
}
