package policylayers

import (
	"context"
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/config/crd"
	"github.com/codeconnect/vmgroup-operator/internal/admission/objects"
)

var (
	groupKind     = v1alpha1.GroupVersion.WithKind("VmGroup")
	groupResource = v1alpha1.GroupVersion.WithResource("vmgroups")
	scaleKind     = autoscalingv1.SchemeGroupVersion.WithKind("Scale")
)

// Server simulates the steps between request and storage, in the same order: of a VmGroup in a member's API server,
// and of a VmGroupPolicy in the hub's.
type Server struct {
	Groups, Limits, Policies *Schema
	fills                    *mutator
	judges                   validating.Validator
}

// NewServer compiles the CRDs and the policies of a member.
func NewServer() (*Server, error) {
	s := &Server{}
	for _, definition := range crd.Hub() {
		var into **Schema
		switch definition.Spec.Names.Kind {
		case "VmGroup":
			into = &s.Groups
		case "VmGroupLimits":
			into = &s.Limits
		case "VmGroupPolicy":
			into = &s.Policies
		default:
			continue
		}
		compiled, err := NewSchema(definition)
		if err != nil {
			return nil, err
		}
		*into = compiled
	}
	bundle, err := objects.Render(objects.Input{Member: "m1", Exempt: []string{"operator"}, ServesMutatingPolicies: true})
	if err != nil {
		return nil, fmt.Errorf("objects of a member: %w", err)
	}
	for _, object := range bundle.Objects {
		if object.GetName() != objects.Name {
			continue
		}
		switch object.GetKind() {
		case "ValidatingAdmissionPolicy":
			p := &admissionv1.ValidatingAdmissionPolicy{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, p); err != nil {
				return nil, fmt.Errorf("policy that validates: %w", err)
			}
			if s.judges, err = newValidator(p); err != nil {
				return nil, fmt.Errorf("policy that validates: %w", err)
			}
		case "MutatingAdmissionPolicy":
			p := &admissionv1.MutatingAdmissionPolicy{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, p); err != nil {
				return nil, fmt.Errorf("policy that mutates: %w", err)
			}
			if s.fills, err = newMutator(p); err != nil {
				return nil, fmt.Errorf("policy that mutates: %w", err)
			}
		}
	}
	if s.judges == nil || s.fills == nil {
		return nil, errors.New("a member has no admission policies")
	}
	return s, nil
}

// Answer is the result of a request.
type Answer struct {
	// Object as it would be stored, defaults of policies included; nil of a Scale.
	Object *unstructured.Unstructured
	// Schema contains the schema's errors, or nil.
	Schema error
	// Refusal is the message of the validating policy; empty if it allows the request.
	Refusal string
}

// Write evaluates a new group, or the update of old, by limits. It changes none of its arguments.
func (s *Server) Write(ctx context.Context, limits, group, old *unstructured.Unstructured, namespace *corev1.Namespace) (Answer, error) {
	object := group.DeepCopy()
	s.Groups.Decode(object.Object)
	request := attributes(object, old, namespace.Name, "")
	if err := s.fills.mutate(ctx, request, groupResource, limits, namespace); err != nil {
		return Answer{}, err
	}
	answer := Answer{Object: request.VersionedObject.(*unstructured.Unstructured)}
	s.Groups.Default(answer.Object.Object)
	if answer.Schema = s.Check(ctx, answer.Object, old); answer.Schema != nil {
		return answer, nil
	}
	var err error
	answer.Refusal, err = s.judge(ctx, request, limits, namespace)
	return answer, err
}

// Check returns the schema's errors for a group.
func (s *Server) Check(ctx context.Context, group, old *unstructured.Unstructured) error {
	var before map[string]any
	if old != nil {
		before = old.Object
	}
	return s.Groups.Validate(ctx, group.Object, before)
}

// Scale evaluates an update of the subresource scale of old.
func (s *Server) Scale(ctx context.Context, limits, old *unstructured.Unstructured, replicas int32, namespace *corev1.Namespace) (Answer, error) {
	was, _, err := unstructured.NestedInt64(old.Object, "spec", "replicas")
	if err != nil {
		return Answer{}, fmt.Errorf("replicas: %w", err)
	}
	request := attributes(scaleOf(old, int32(was)), nil, namespace.Name, "scale")
	request.VersionedOldObject = request.VersionedObject
	request.VersionedObject = scaleOf(old, replicas)
	refusal, err := s.judge(ctx, request, limits, namespace)
	return Answer{Refusal: refusal}, err
}

func scaleOf(group *unstructured.Unstructured, replicas int32) runtime.Object {
	return &autoscalingv1.Scale{
		TypeMeta:   metav1.TypeMeta{APIVersion: scaleKind.GroupVersion().String(), Kind: scaleKind.Kind},
		ObjectMeta: metav1.ObjectMeta{Namespace: group.GetNamespace(), Name: group.GetName()}, Spec: autoscalingv1.ScaleSpec{Replicas: replicas},
	}
}

func attributes(object runtime.Object, old *unstructured.Unstructured, namespace, subresource string) *admission.VersionedAttributes {
	kind, operation := groupKind, admission.Create
	var before runtime.Object
	if old != nil {
		before, operation = old, admission.Update
	}
	if subresource != "" {
		kind, operation = scaleKind, admission.Update
	}
	record := admission.NewAttributesRecord(object, before, kind, namespace, "web", groupResource, subresource, operation, nil, false, &user.DefaultInfo{Name: "team"})
	return &admission.VersionedAttributes{Attributes: record, VersionedObject: object, VersionedOldObject: before, VersionedKind: kind}
}

func (s *Server) judge(ctx context.Context, on *admission.VersionedAttributes, limits runtime.Object, namespace *corev1.Namespace) (string, error) {
	result := s.judges.Validate(ctx, groupResource, on, limits, namespace, celconfig.RuntimeCELCostBudget, nil)
	for _, decision := range result.Decisions {
		switch {
		case decision.Evaluation == validating.EvalError:
			return "", fmt.Errorf("the policy that validates fails: %s", decision.Message)
		case decision.Action == validating.ActionDeny:
			return decision.Message, nil
		}
	}
	return "", nil
}
