//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// operatorObjects is the name of the operator's objects in a member.
const operatorObjects = "vmgroup-operator"

// layer is a kind with the schema of VmGroup in a separate API group, and its admission.
type layer struct {
	name, about string
	goal        goal
	// validating and mutating select the copies of the operator's admission policies.
	validating, mutating bool
	object               *unstructured.Unstructured
}

// layersOf makes copies of the VmGroup CRD beside the real one, so that requests can alternate between kinds with more and less admission.
// The bound of the last kind is the sum of the costs of the parts, measured separately.
func layersOf(ctx context.Context, member *stack.Cluster) (layers []layer, remove func(), err error) {
	layers = []layer{
		{name: "crd", about: "its schema"},
		{name: "validating-policy", about: "its schema and the ValidatingAdmissionPolicy", validating: true},
		{name: "mutating-policy", about: "its schema and both admission policies", validating: true, mutating: true},
		{name: "webhooks", about: "everything: both admission policies and a call of the hub", goal: atMost(1.8)},
	}
	var made []client.Object
	remove = func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		for _, o := range made {
			_ = member.Delete(ctx, o) // the cluster is removed with the rig
		}
	}
	defer func() {
		if err != nil {
			remove()
		}
	}()
	for i := range layers {
		l := &layers[i]
		group := v1alpha1.GroupVersion.Group
		if i < len(layers)-1 {
			group = l.name + ".bench.example"
			copies, err := l.copies(ctx, member, group)
			if err != nil {
				return nil, remove, err
			}
			for _, o := range copies {
				if err := member.Create(ctx, o); err != nil {
					return nil, remove, fmt.Errorf("copy %T %s: %w", o, o.GetName(), err)
				}
				made = append(made, o)
			}
		}
		if l.object, err = groupOf(group); err != nil {
			return nil, remove, err
		}
		if err := await.Condition(ctx, "groups of "+group, func(ctx context.Context) (bool, error) {
			err := member.Create(ctx, l.object.DeepCopy(), client.DryRunAll)
			return err == nil, err
		}); err != nil {
			return nil, remove, err
		}
	}
	return layers, remove, nil
}

// groupOf returns a VmGroup of another API group.
func groupOf(group string) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(newGroup("never", 1))
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: v1alpha1.GroupVersion.Version, Kind: "VmGroup"})
	delete(u.Object, "status")
	return u, nil
}

// copies returns the CRD and the layer's policies for another API group.
func (l *layer) copies(ctx context.Context, member *stack.Cluster, group string) ([]client.Object, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := member.Get(ctx, client.ObjectKey{Name: "vmgroups." + v1alpha1.GroupVersion.Group}, crd); err != nil {
		return nil, err
	}
	crd.ObjectMeta = metav1.ObjectMeta{Name: "vmgroups." + group}
	crd.Spec.Group = group
	crd.Spec.Names.ShortNames, crd.Spec.Names.Categories = nil, nil
	crd.Status = apiextensionsv1.CustomResourceDefinitionStatus{}
	out := []client.Object{crd}
	renamed := metav1.ObjectMeta{Name: group}
	key := client.ObjectKey{Name: operatorObjects}
	if l.validating {
		p, b := &admissionregistrationv1.ValidatingAdmissionPolicy{}, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{}
		if err := errors.Join(member.Get(ctx, key, p), member.Get(ctx, key, b)); err != nil {
			return nil, err
		}
		p.ObjectMeta, b.ObjectMeta, b.Spec.PolicyName = renamed, renamed, group
		regroup(p.Spec.MatchConstraints, group)
		out = append(out, p, b)
	}
	if l.mutating {
		p, b := &admissionregistrationv1.MutatingAdmissionPolicy{}, &admissionregistrationv1.MutatingAdmissionPolicyBinding{}
		if err := errors.Join(member.Get(ctx, key, p), member.Get(ctx, key, b)); err != nil {
			return nil, err
		}
		p.ObjectMeta, b.ObjectMeta, b.Spec.PolicyName = renamed, renamed, group
		regroup(p.Spec.MatchConstraints, group)
		out = append(out, p, b)
	}
	return out, nil
}

// regroup makes rules match another API group.
func regroup(m *admissionregistrationv1.MatchResources, group string) {
	for i := range m.ResourceRules {
		m.ResourceRules[i].APIGroups = []string{group}
	}
}
