package webhook

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

func TestAPercentageThatLetsNoVMBeRepairedIsWarnedOf(t *testing.T) {
	const nine = "spec.repair.maxUnhealthy: 10% of 9 VMs is 0, so no VM is ever repaired, and updates wait while one needs repair; set it to a number, or to 12% or more"
	const one = "spec.repair.maxUnhealthy: 10% of 1 VM is 0, so no VM is ever repaired, and updates wait while one needs repair; set it to a number, or to 100% or more"
	wants := func(replicas int32, limit intstr.IntOrString) *v1alpha1.VmGroup {
		return aGroup(func(g *v1alpha1.VmGroup) {
			g.Spec.Replicas, g.Spec.Repair = &replicas, &v1alpha1.Repair{MaxUnhealthy: &limit}
		})
	}
	ten := intstr.FromString("10%")
	w := knowledgeWith(policyNamed("default", defaultPolicy()))
	w.groups = map[string]*v1alpha1.VmGroup{"apps/vg": wants(10, ten)}
	s := serve(t, w, nil)
	for story, test := range map[string]struct {
		warnings, want []string
	}{
		"a new group":             {s.validate(requestFor(t, nil, wants(9, ten))).Warnings, []string{nine}},
		"it shrinks":              {s.validate(requestFor(t, wants(10, ten), wants(9, ten))).Warnings, []string{nine}},
		"it is scaled":            {s.validate(scaleRequest(t, 10, 9)).Warnings, []string{nine}},
		"to one":                  {s.validate(scaleRequest(t, 10, 1)).Warnings, []string{one}},
		"to none":                 {s.validate(scaleRequest(t, 10, 0)).Warnings, nil},
		"one may be repaired":     {s.validate(requestFor(t, nil, wants(9, intstr.FromString("12%")))).Warnings, nil},
		"none is meant":           {s.validate(requestFor(t, nil, wants(9, intstr.FromInt32(0)))).Warnings, nil},
		"none is meant, in words": {s.validate(requestFor(t, nil, wants(9, intstr.FromString("0%")))).Warnings, nil},
	} {
		if !slices.Equal(test.warnings, test.want) {
			t.Errorf("%s: warnings are %q, want %q", story, test.warnings, test.want)
		}
	}
}
