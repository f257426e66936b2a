//go:build unix

package objects

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

func TestExpressionsMatchWhatPatternsMatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`[a-c*.\\\n(+]{0,8}`).Draw(t, "pattern")
		name := rapid.StringMatching(`[a-c.\\\n(+]{0,8}`).Draw(t, "name")
		got := pattern == name
		if expression := expressionOf(pattern); expression != "" {
			got = got || regexp.MustCompile(expression).MatchString(name)
		}
		if want := policy.Matches(pattern, name); got != want {
			t.Fatalf("pattern %q, name %q: %v, want %v", pattern, name, got, want)
		}
	})
}

func TestOnlyPoliciesOfTheMemberAreCompiled(t *testing.T) {
	here, there := limited("here", 4, "8Gi", 5), limited("there", 4, "8Gi", 5)
	here.Spec.Match.MemberClusters = []string{"team-*"}
	there.Spec.Match.MemberClusters = []string{"other"}
	warns := limited("warns", 2, "8Gi", 5)
	warns.Spec.Mode, warns.Spec.Priority = v1alpha1.PolicyWarn, 5
	unusable := limited("unusable", 2, "8Gi", 5)
	unusable.Spec.Match.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"not a label": "x"}}
	harmless := unusable.DeepCopy()
	harmless.Name, harmless.Spec.Mode = "harmless", v1alpha1.PolicyWarn
	limits, err := Compile(policy.Compile([]v1alpha1.VmGroupPolicy{here, there, warns, unusable, *harmless}), "team-a")
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, 0, len(limits.Policies))
	for _, p := range limits.Policies {
		names = append(names, fmt.Sprintf("%s %v %v", p.Name, p.Enforced, p.Refusal != ""))
	}
	if got, want := strings.Join(names, "; "), "warns false false; here true false; unusable true true"; got != want {
		t.Errorf("policies %q, want %q", got, want)
	}
	if got, want := limits.Summary, "warns (warns), here, unusable (unusable)"; got != want {
		t.Errorf("summary %q, want %q", got, want)
	}
}

func TestTheSummaryOfManyPoliciesFitsAColumn(t *testing.T) {
	for _, name := range []string{"small", strings.Repeat("p", 253)} {
		for _, n := range []int{1, 2, 9, maxPolicies} {
			got := summary(slices.Repeat([]string{name}, n))
			if shown := strings.Count(got, ",") + 1; len(got) > 120 || shown < n && !strings.HasSuffix(got, fmt.Sprintf(" and %d more", n-shown)) {
				t.Errorf("of %d policies: %q", n, got)
			}
		}
	}
}

func TestWithoutPoliciesThereIsASummary(t *testing.T) {
	limits, err := Compile(nil, "team-a")
	if err != nil {
		t.Fatal(err)
	}
	if limits.Summary != "none" || limits.Unmatched.CPU.Max == nil || *limits.Unmatched.CPU.Max != 4 {
		t.Errorf("limits %+v", limits)
	}
}

func TestWhatDoesNotFitIsReportedWithItsPolicy(t *testing.T) {
	selector := func(requirements, values int) v1alpha1.VmGroupPolicy {
		p := limited("wide", 4, "8Gi", 5)
		p.Spec.Match.NamespaceSelector = &metav1.LabelSelector{}
		for i := range requirements {
			r := metav1.LabelSelectorRequirement{Key: fmt.Sprint("k", i), Operator: metav1.LabelSelectorOpIn}
			for j := range values {
				r.Values = append(r.Values, fmt.Sprint(j))
			}
			p.Spec.Match.NamespaceSelector.MatchExpressions = append(p.Spec.Match.NamespaceSelector.MatchExpressions, r)
		}
		return p
	}
	long := func(n int) (policies []v1alpha1.VmGroupPolicy) {
		for i := range n {
			p := limited(fmt.Sprint("long-", i), 4, "8Gi", 5)
			for j := range 64 {
				p.Spec.Templates.Deny = append(p.Spec.Templates.Deny, strings.Repeat("x", 250)+fmt.Sprintf("*%d", j))
			}
			policies = append(policies, p)
		}
		return policies
	}
	for _, c := range []struct {
		story    string
		policies []v1alpha1.VmGroupPolicy
		says     string
	}{
		{"values", []v1alpha1.VmGroupPolicy{selector(1, 257)}, `VmGroupPolicy "wide" does not fit into VmGroupLimits: 257 values of label k0`},
		{"requirements", []v1alpha1.VmGroupPolicy{selector(65, 1)}, `VmGroupPolicy "wide" does not fit into VmGroupLimits: 65 requirements`},
		{"policies", crowd(257, 0, 0), "257 policies, 256 at most"},
		{"expressions", long(8), "patterns with stars of"},
		{"bytes", crowd(256, 64, 0), "bytes, 524288 at most"},
	} {
		_, err := Compile(policy.Compile(c.policies), "team-a")
		var large *TooLargeError
		if !errors.As(err, &large) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.story, err, c.says)
		}
	}
	if _, err := Compile(policy.Compile([]v1alpha1.VmGroupPolicy{selector(64, 100)}), "team-a"); err != nil {
		t.Errorf("a policy of the largest size: %v", err)
	}
}
