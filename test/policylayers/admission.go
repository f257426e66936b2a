package policylayers

import (
	"context"
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// compiler has the variables of a policy and compiles its expressions. It replicates the plugins of an API server,
// whose functions for it are not exported.
func compiler(variables []admissionv1.Variable) (*plugincel.CompositedCompiler, error) {
	c, err := plugincel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if err != nil {
		return nil, fmt.Errorf("compiler: %w", err)
	}
	for _, v := range variables {
		result := c.CompileAndStoreVariable(&validating.Variable{Name: v.Name, Expression: v.Expression}, declared(true), environment.StoredExpressions)
		if result.Error != nil {
			return nil, fmt.Errorf("variable %s: %w", v.Name, result.Error)
		}
	}
	return c, nil
}

// declared are the variables that an API server gives to expressions.
func declared(authorizer bool) plugincel.OptionalVariableDeclarations {
	return plugincel.OptionalVariableDeclarations{HasParams: true, HasAuthorizer: authorizer}
}

func matcherOf(c *plugincel.CompositedCompiler, conditions []admissionv1.MatchCondition, onError *admissionv1.FailurePolicyType) (matchconditions.Matcher, error) {
	accessors := make([]plugincel.ExpressionAccessor, len(conditions))
	for i := range conditions {
		accessors[i] = (*matchconditions.MatchCondition)(&conditions[i])
	}
	evaluator := c.CompileCondition(accessors, declared(true), environment.StoredExpressions)
	return matchconditions.NewMatcher(evaluator, onError, "policy", "validate", "policy"), errors.Join(evaluator.CompilationErrors()...)
}

// newValidator compiles a policy that validates.
func newValidator(p *admissionv1.ValidatingAdmissionPolicy) (validating.Validator, error) {
	c, err := compiler(p.Spec.Variables)
	if err != nil {
		return nil, err
	}
	matcher, err := matcherOf(c, p.Spec.MatchConditions, p.Spec.FailurePolicy)
	if err != nil {
		return nil, err
	}
	var rules, messages []plugincel.ExpressionAccessor
	for _, v := range p.Spec.Validations {
		rules = append(rules, &validating.ValidationCondition{Expression: v.Expression, Message: v.Message, Reason: v.Reason})
		messages = append(messages, &validating.MessageExpressionCondition{MessageExpression: v.MessageExpression})
	}
	checks := c.CompileCondition(rules, declared(true), environment.StoredExpressions)
	words := c.CompileCondition(messages, declared(false), environment.StoredExpressions)
	notes := c.CompileCondition(nil, declared(true), environment.StoredExpressions)
	err = errors.Join(append(checks.CompilationErrors(), words.CompilationErrors()...)...)
	return validating.NewValidator(checks, matcher, notes, words, p.Spec.FailurePolicy, nil), err
}

// mutator is a compiled policy that mutates.
type mutator struct {
	compiler *plugincel.CompositedCompiler
	matcher  matchconditions.Matcher
	patchers []patch.Patcher
}

func newMutator(p *admissionv1.MutatingAdmissionPolicy) (*mutator, error) {
	c, err := compiler(p.Spec.Variables)
	if err != nil {
		return nil, err
	}
	m := &mutator{compiler: c}
	if m.matcher, err = matcherOf(c, p.Spec.MatchConditions, p.Spec.FailurePolicy); err != nil {
		return nil, err
	}
	declarations := declared(true)
	declarations.HasPatchTypes = true
	for _, mutation := range p.Spec.Mutations {
		evaluator := c.CompileMutatingEvaluator(&patch.JSONPatchCondition{Expression: mutation.JSONPatch.Expression}, declarations, environment.StoredExpressions)
		if err := errors.Join(evaluator.CompilationErrors()...); err != nil {
			return nil, err
		}
		m.patchers = append(m.patchers, patch.NewJSONPatcher(evaluator))
	}
	return m, nil
}

// mutate changes the object of a request.
func (m *mutator) mutate(ctx context.Context, on *admission.VersionedAttributes, resource schema.GroupVersionResource, params runtime.Object, namespace *corev1.Namespace) error {
	ctx = m.compiler.CreateContext(ctx)
	switch matched := m.matcher.Match(ctx, on, params, nil); {
	case matched.Error != nil:
		return fmt.Errorf("match conditions: %w", matched.Error)
	case !matched.Matches:
		return nil
	}
	for _, p := range m.patchers {
		patched, err := p.Patch(ctx, patch.Request{
			MatchedResource: resource, VersionedAttributes: on, ObjectInterfaces: interfaces{},
			OptionalVariables: plugincel.OptionalVariableBindings{VersionedParams: params}, Namespace: namespace,
		}, celconfig.RuntimeCELCostBudget)
		if err != nil {
			return fmt.Errorf("patch: %w", err)
		}
		on.VersionedObject = patched
	}
	return nil
}

// interfaces of objects without Go types: the plugins need no others.
type interfaces struct{ admission.ObjectInterfaces }

// GetObjectCreater implements admission.ObjectInterfaces.
func (interfaces) GetObjectCreater() runtime.ObjectCreater { return untyped{} }

// GetObjectTyper implements admission.ObjectInterfaces.
func (interfaces) GetObjectTyper() runtime.ObjectTyper { return untyped{} }

type untyped struct{}

// New implements runtime.ObjectCreater.
func (untyped) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	return object, nil
}

// ObjectKinds implements runtime.ObjectTyper.
func (untyped) ObjectKinds(object runtime.Object) ([]schema.GroupVersionKind, bool, error) {
	return []schema.GroupVersionKind{object.GetObjectKind().GroupVersionKind()}, false, nil
}

// Recognizes implements runtime.ObjectTyper.
func (untyped) Recognizes(schema.GroupVersionKind) bool { return true }
