//go:build unix && !fast

package objects

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

func TestManyPoliciesStayWithinTheCost(t *testing.T) {
	m := newMember(t)
	m.namespace("crowded", map[string]string{"example.com/label-1": "z"})
	m.install(crowd(100, 10, 10)...)
	for _, c := range []struct {
		cpu  int32
		want string
	}{
		{9, ""},
		{10, `spec.cpu: Invalid value: 10: exceeds the maximum 9 of VmGroupPolicy "policy-099"`},
		{200, `spec.cpu: Invalid value: 200: exceeds the maximum 108 of VmGroupPolicy "policy-000"`},
	} {
		err := m.team.Create(t.Context(), newGroup("crowded", "g", c.cpu, 64, "images/linux-12", 50), client.DryRunAll)
		if got := reason(err); got != c.want {
			t.Errorf("cpu %d: %q, want %q", c.cpu, got, c.want)
		}
	}
}

// TestTheLargestLimitsStayWithinTheCost uses all that Compile accepts, in its most costly form: long patterns that do
// not match a long name until the very last.
func TestTheLargestLimitsStayWithinTheCost(t *testing.T) {
	m := newMember(t)
	labels := map[string]string{}
	for i := range 32 {
		labels[fmt.Sprint("k", i)] = "none-of-them"
	}
	m.namespace("crowded", labels)
	var policies []v1alpha1.VmGroupPolicy
	fits := func(add v1alpha1.VmGroupPolicy) bool {
		_, err := Compile(policy.Compile(append(slices.Clone(policies), add)), "m1")
		return err == nil
	}
	for i := 0; ; i++ {
		p := limited(fmt.Sprintf("long-%03d", i), 8, "64Gi", 50)
		for j := range 3 {
			p.Spec.Templates.Deny = append(p.Spec.Templates.Deny, strings.Repeat("x", 240)+fmt.Sprintf("*%d-%d", i, j))
		}
		if !fits(p) {
			break
		}
		policies = append(policies, p)
	}
	for i := 0; ; i++ {
		p := limited(fmt.Sprintf("many-%03d", i), 8, "64Gi", 50)
		p.Spec.Match.NamespaceSelector = &metav1.LabelSelector{}
		for j := range 32 {
			requirement := metav1.LabelSelectorRequirement{Key: fmt.Sprint("k", j), Operator: metav1.LabelSelectorOpNotIn}
			for k := range 128 {
				requirement.Values = append(requirement.Values, fmt.Sprint(k))
			}
			p.Spec.Match.NamespaceSelector.MatchExpressions = append(p.Spec.Match.NamespaceSelector.MatchExpressions, requirement)
		}
		if !fits(p) {
			break
		}
		policies = append(policies, p)
	}
	t.Logf("%d policies", len(policies))
	m.install(policies...)
	template := strings.Repeat("x", 255)
	if err := m.team.Create(t.Context(), newGroup("crowded", "g", 8, 64, template, 50), client.DryRunAll); err != nil {
		t.Errorf("a group that keeps to all policies: %v", err)
	}
}
