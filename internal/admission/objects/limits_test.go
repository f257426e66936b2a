//go:build unix

package objects

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// limited is a policy with a maximum for each field.
func limited(name string, cpu int32, memory string, replicas int32, templates ...string) v1alpha1.VmGroupPolicy {
	return v1alpha1.VmGroupPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.VmGroupPolicySpec{
			Limits: &v1alpha1.PolicyLimits{
				CPU:      &v1alpha1.CountRange{Max: ptr.To(cpu)},
				Memory:   &v1alpha1.AmountRange{Max: ptr.To(v1alpha1.Amount(memory))},
				Replicas: &v1alpha1.CountRange{Min: ptr.To[int32](2), Max: ptr.To(replicas)},
			},
			Templates: &v1alpha1.PolicyTemplates{Allow: templates},
		},
	}
}

// raw is a group with exactly the fields of spec; nil is none at all.
func raw(name string, spec map[string]any) *unstructured.Unstructured {
	group := &unstructured.Unstructured{Object: map[string]any{}}
	group.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("VmGroup"))
	group.SetNamespace(metav1.NamespaceDefault)
	group.SetName(name)
	if spec != nil {
		group.Object["spec"] = spec
	}
	return group
}
