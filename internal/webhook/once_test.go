package webhook

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// TestScalingToZeroAndBackWarnsOfNothingThatItDoesNotDo: a minimum of replicas applies to new groups only, and warnings about settings were shown when
// they were set.
func TestScalingToZeroAndBackWarnsOfNothingThatItDoesNotDo(t *testing.T) {
	least, quarter := int32(3), intstr.FromString("25%")
	for _, mode := range []v1alpha1.PolicyMode{v1alpha1.PolicyEnforce, v1alpha1.PolicyWarn} {
		policy := policyNamed("default", v1alpha1.VmGroupPolicySpec{Mode: mode, Limits: &v1alpha1.PolicyLimits{Replicas: &v1alpha1.CountRange{Min: &least}}})
		s := serve(t, knowledgeWith(policy), nil)
		wants := func(n int32) *v1alpha1.VmGroup {
			return aGroup(func(g *v1alpha1.VmGroup) {
				g.Name = "a-name-for-windows"
				g.Spec.Replicas, g.Spec.Repair = &n, &v1alpha1.Repair{MaxUnhealthy: &quarter}
				g.Spec.Guest = &v1alpha1.Guest{Hostname: v1alpha1.GuestHostnameName}
			})
		}
		if created := s.validate(requestFor(t, nil, wants(3))).Warnings; len(created) != 2 {
			t.Errorf("%s: a new group: %q, want a warning of its repair and one of its host names", mode, created)
		}
		for _, step := range [][2]int32{{3, 0}, {0, 2}, {2, 3}, {3, 1}} {
			response := s.validate(requestFor(t, wants(step[0]), wants(step[1])))
			if !response.Allowed || len(response.Warnings) > 0 {
				t.Errorf("%s: from %d to %d: %v, %q", mode, step[0], step[1], response.Allowed, response.Warnings)
			}
		}
	}
}

// TestAnEditOfLabelsRemindsOfWhatHoldsTheGroup, and of no violation that a policy only warns of, or that applies to new groups
// only.
func TestAnEditOfLabelsRemindsOfWhatHoldsTheGroup(t *testing.T) {
	one, three := int32(1), int32(3)
	limits := &v1alpha1.PolicyLimits{CPU: &v1alpha1.CountRange{Max: &one}, Replicas: &v1alpha1.CountRange{Min: &three}}
	for mode, want := range map[v1alpha1.PolicyMode]int{v1alpha1.PolicyEnforce: 1, v1alpha1.PolicyWarn: 0} {
		s := serve(t, knowledgeWith(policyNamed("default", v1alpha1.VmGroupPolicySpec{Mode: mode, Limits: limits})), nil)
		old := aGroup(func(g *v1alpha1.VmGroup) { g.Spec.CPU, g.Spec.Replicas = 2, new(int32(2)) })
		labeled := old.DeepCopy()
		labeled.Labels = map[string]string{"a": "b"}
		got := s.validate(requestFor(t, old, labeled)).Warnings
		if len(got) != want || want == 1 && !strings.Contains(got[0], "spec.cpu") {
			t.Errorf("%s: %q", mode, got)
		}
	}
}
