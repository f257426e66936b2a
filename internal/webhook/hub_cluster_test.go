//go:build unix && !fast

package webhook

import (
	"errors"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

func TestVmGroupPolicies(t *testing.T) {
	other := policyNamed("beta", v1alpha1.VmGroupPolicySpec{Defaults: &v1alpha1.PolicyDefaults{CPU: 2, VCenter: "default"}})
	broken := 0
	s := serve(t, knowledgeWith(), func(o *Options) {
		o.Hub = hubWith(t, &other)
		o.Impact = impact(func(changed *v1alpha1.VmGroupPolicy) (int, int, error) {
			if changed.Name != "alpha" {
				return 9, broken, errors.New("no cache")
			}
			return 9, broken, nil
		})
	})
	made := func(spec v1alpha1.VmGroupPolicySpec) *v1alpha1.VmGroupPolicy {
		p := policyNamed("alpha", spec)
		p.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "VmGroupPolicy"}
		return &p
	}
	memory := func(text string) *v1alpha1.Amount { return new(v1alpha1.Amount(text)) }
	for _, c := range []hubStory[*v1alpha1.VmGroupPolicy]{
		{story: "good", object: made(defaultPolicy())},
		{
			story: "patterns", object: made(v1alpha1.VmGroupPolicySpec{
				Match:     v1alpha1.PolicyMatch{MemberClusters: []string{"A"}, Exclude: []string{" x"}},
				Templates: &v1alpha1.PolicyTemplates{Allow: []string{""}, Deny: []string{"y "}},
			}),
			refused: `spec.match.memberClusters[0]: Invalid value: "A": has capital letters, which no MemberCluster's name has; ` +
				`spec.match.exclude[0]: Invalid value: " x": begins or ends with a space, so it matches nothing; ` +
				`spec.templates.allow[0]: Invalid value: "": an empty pattern matches nothing; write * for everything; ` +
				`spec.templates.deny[0]: Invalid value: "y ": begins or ends with a space, so it matches nothing`,
		},
		{
			story: "a selector", object: made(v1alpha1.VmGroupPolicySpec{Match: v1alpha1.PolicyMatch{NamespaceSelector: &metav1.LabelSelector{
				MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "stage", Operator: "Sometimes"}},
			}}}),
			refused: `spec.match.namespaceSelector.matchExpressions[0].operator: Invalid value: "Sometimes": not a valid selector operator`,
		},
		{
			story: "ranges without a value", object: made(v1alpha1.VmGroupPolicySpec{Limits: &v1alpha1.PolicyLimits{
				CPU: &v1alpha1.CountRange{Min: new(int32(4)), Max: new(int32(2))}, Memory: &v1alpha1.AmountRange{Min: memory("1.2Gi"), Max: memory("1.8Gi")},
			}}),
			refused: "spec: Invalid value: limits.cpu allows no value: the minimum 4 is above the maximum 2; " +
				"limits.memory allows no value: the minimum 2 GiB is above the maximum 1 GiB",
		},
		{
			story: "a negative quota", object: made(v1alpha1.VmGroupPolicySpec{Quota: &v1alpha1.PolicyQuota{Memory: memory("-1Gi")}}),
			refused: `spec: Invalid value: quota.memory: "-1Gi" is no amount such as 8Gi or 512Mi`,
		},
		{
			story: "defaults that the policy itself refuses", object: made(v1alpha1.VmGroupPolicySpec{
				Match:     v1alpha1.PolicyMatch{MemberClusters: []string{"team-b"}},
				Limits:    &v1alpha1.PolicyLimits{CPU: &v1alpha1.CountRange{Max: new(int32(4))}, Memory: &v1alpha1.AmountRange{Min: memory("2Gi")}},
				Templates: &v1alpha1.PolicyTemplates{Deny: []string{"windows-*"}},
				Defaults:  &v1alpha1.PolicyDefaults{CPU: 8, Template: "windows-11"},
				Priority:  1,
			}),
			warnings: []string{
				`spec.defaults: groups that leave the field out are refused: spec.cpu: Invalid value: 8: exceeds the maximum 4 of VmGroupPolicy "alpha"`,
				`spec.defaults: groups that leave the field out are refused: spec.template: Invalid value: "windows-11": is denied by VmGroupPolicy "alpha": windows-*`,
			},
		},
		{
			story: "other defaults at the same priority", object: made(v1alpha1.VmGroupPolicySpec{Defaults: &v1alpha1.PolicyDefaults{CPU: 4, VCenter: "default"}}),
			warnings: []string{`spec.defaults: VmGroupPolicy "beta" has the same priority and another default of spec.cpu; where both hold, that of "alpha" is taken, the first by name`},
		},
		{
			story: "defaults beyond the limits that hold without any", object: made(v1alpha1.VmGroupPolicySpec{
				Priority: 3, Limits: &v1alpha1.PolicyLimits{Memory: &v1alpha1.AmountRange{Max: memory("64Gi")}},
				Defaults: &v1alpha1.PolicyDefaults{CPU: 8, Memory: 64},
			}),
			warnings: []string{
				"spec.defaults: groups that leave the field out are refused, unless another policy limits it: " +
					"spec.cpu: Invalid value: 8: exceeds the maximum 4 that holds by default: no VmGroupPolicy in mode Enforce limits it here",
			},
		},
		{story: "other defaults at another priority", object: made(v1alpha1.VmGroupPolicySpec{Priority: 3, Defaults: &v1alpha1.PolicyDefaults{CPU: 4}})},
	} {
		c.check(t, s, VmGroupPolicyPath, false)
	}
	broken = 3
	warns := defaultPolicy()
	warns.Mode = v1alpha1.PolicyWarn
	for _, c := range []hubStory[*v1alpha1.VmGroupPolicy]{
		{
			story: "groups that break it", object: made(defaultPolicy()),
			warnings: []string{"3 of the 9 groups that this policy applies to violate it: they keep their VMs, but cannot grow until they comply"},
		},
		{
			story: "groups that break it, and it only warns", object: made(warns),
			warnings: []string{"3 of the 9 groups that this policy applies to violate it; they are not held, because the policy's mode is Warn"},
		},
	} {
		c.check(t, s, VmGroupPolicyPath, false)
	}
}

// TestOneCountOfGroupsAtATime: counting reads every group. Many concurrent requests take no more than one core, and are answered immediately.
func TestOneCountOfGroupsAtATime(t *testing.T) {
	inside, goOn := make(chan struct{}), make(chan struct{})
	s := serve(t, knowledgeWith(), func(o *Options) {
		o.Impact = impact(func(*v1alpha1.VmGroupPolicy) (int, int, error) {
			inside <- struct{}{}
			<-goOn
			return 2, 1, nil
		})
	})
	asked := func() *admissionv1.AdmissionRequest {
		p := policyNamed("alpha", v1alpha1.VmGroupPolicySpec{})
		p.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "VmGroupPolicy"}
		return hubRequest(t, nil, &p)
	}
	first := make(chan *admissionv1.AdmissionResponse)
	go func() { first <- s.askHub(VmGroupPolicyPath, asked()) }()
	<-inside
	for range hubRequests/2 - 1 {
		if got := s.askHub(VmGroupPolicyPath, asked()); len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "is not known") {
			t.Errorf("while another policy is counted: %q", got.Warnings)
		}
	}
	close(goOn)
	if got := <-first; len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "1 of the 2 groups") {
		t.Errorf("the first one: %q", got.Warnings)
	}
}

func TestAPolicyThatIsTooLargeIsNotCounted(t *testing.T) {
	s := serve(t, knowledgeWith(), func(o *Options) {
		o.Impact = impact(func(*v1alpha1.VmGroupPolicy) (int, int, error) {
			t.Error("it is counted")
			return 0, 0, nil
		})
	})
	many := slices.Repeat([]string{"*"}, 65)
	requirement := metav1.LabelSelectorRequirement{Key: "a", Operator: "Exists"}
	for name, change := range map[string]func(*v1alpha1.VmGroupPolicySpec){
		"spec.match.exclude":           func(s *v1alpha1.VmGroupPolicySpec) { s.Match.Exclude = many },
		"spec.match.memberClusters[0]": func(s *v1alpha1.VmGroupPolicySpec) { s.Match.MemberClusters = []string{strings.Repeat("*", 256)} },
		"spec.templates.deny":          func(s *v1alpha1.VmGroupPolicySpec) { s.Templates = &v1alpha1.PolicyTemplates{Deny: many} },
		"spec.match.namespaceSelector": func(s *v1alpha1.VmGroupPolicySpec) {
			s.Match.NamespaceSelector = &metav1.LabelSelector{MatchExpressions: slices.Repeat([]metav1.LabelSelectorRequirement{requirement}, 65)}
		},
	} {
		p := policyNamed("alpha", v1alpha1.VmGroupPolicySpec{})
		p.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "VmGroupPolicy"}
		change(&p.Spec)
		if got := s.askHub(VmGroupPolicyPath, hubRequest(t, nil, &p)); got.Allowed || !strings.HasPrefix(got.Result.Message, name) || !strings.Contains(got.Result.Message, ": Too ") {
			t.Errorf("%s: allowed %v, %+v", name, got.Allowed, got.Result)
		}
	}
}
