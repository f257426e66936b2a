//go:build unix

package objects

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// crowd are policies that all apply to a namespace without labels, each with this many requirements,
// excluded namespaces and template patterns.
func crowd(policies, requirements, patterns int) []v1alpha1.VmGroupPolicy {
	list := func(format string) []string {
		result := make([]string, 0, patterns)
		for i := range patterns {
			result = append(result, fmt.Sprintf(format, i))
		}
		return result
	}
	result := make([]v1alpha1.VmGroupPolicy, 0, policies)
	for i := range policies {
		p := limited(fmt.Sprintf("policy-%03d", i), 8, "64Gi", 50, append(list("windows-%d-*"), "linux-*")...)
		p.Spec.Limits.CPU.Max = ptr.To(int32(8 + policies - i))
		p.Spec.Templates.Deny = list("*-old-%d")
		p.Spec.Match.Exclude = list("kube-%d-*")
		p.Spec.Match.NamespaceSelector = &metav1.LabelSelector{}
		for j := range requirements {
			p.Spec.Match.NamespaceSelector.MatchExpressions = append(p.Spec.Match.NamespaceSelector.MatchExpressions,
				metav1.LabelSelectorRequirement{Key: fmt.Sprintf("example.com/label-%d", j), Operator: metav1.LabelSelectorOpNotIn, Values: []string{"a", "b", "c"}})
		}
		result = append(result, p)
	}
	return result
}
