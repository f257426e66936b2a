package objects

import (
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/utils/ptr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/inquiry"
)

// Expressions that several objects share, in the Common Expression Language. A variable is evaluated at most once per request, on its first use. Optional
// fields are checked with has() first: an error in an expression refuses the request.

const (
	// specChanges holds for a new object, and for an update that changes more than labels and finalizers. It does not hold for an object that is being
	// deleted: policies must never delay a deletion. It is one condition and not two: each condition has a cost for every request.
	specChanges = `!has(object.metadata.deletionTimestamp) && (oldObject == null || object.?spec != oldObject.?spec)`

	// hasSpec excludes groups without a spec, which the original operator accepted: they get no VMs.
	hasSpec = `has(object.spec)`

	// inquires holds for the dry run by which kubectl vmgroup asks what a namespace can use. Its empty fields are part of the question.
	inquires = `object.metadata.?name.orValue('') == '` + inquiry.NamespaceManager + `'`

	labelsOfNamespace = `has(namespaceObject.metadata.labels) ? namespaceObject.metadata.labels : {}`
)

// policiesOfNamespace are the policies that apply to the group, in their order. Requirements have the semantics of a Kubernetes label selector.
var policiesOfNamespace = `!has(params.spec.policies) ? [] : params.spec.policies.filter(p,
  (!has(p.selector) || p.selector.all(r,
    r.operator == 'In' ? r.key in variables.labels && has(r.values) && variables.labels[r.key] in r.values :
    r.operator == 'NotIn' ? !(r.key in variables.labels && has(r.values) && variables.labels[r.key] in r.values) :
    r.operator == 'Exists' ? r.key in variables.labels :
    !(r.key in variables.labels))) &&
  !(has(p.exclude) && p.exclude.exists(e, ` + matches("e", "request.namespace") + `)))`

// matches reports whether name matches the pattern in the variable. The API server compiles regular expressions anew for each request, so only patterns
// with a star have one.
func matches(pattern, name string) string {
	return fmt.Sprintf("(%[1]s.pattern == %[2]s || has(%[1]s.expression) && %[2]s.matches(%[1]s.expression))", pattern, name)
}

// namesMatch reports whether a vCenter name, folded, matches the pattern in the variable. Package policy uses the same rule.
func namesMatch(pattern, name string) string {
	return fmt.Sprintf("(%[1]s.pattern.lowerAscii() == %[2]s || has(%[1]s.expression) && %[2]s.matches(%[1]s.expression))", pattern, name)
}

func variable(name, expression string) admissionv1.Variable {
	return admissionv1.Variable{Name: name, Expression: expression}
}

func groups(operations ...admissionv1.OperationType) admissionv1.NamedRuleWithOperations {
	return rule("vmgroups", operations...)
}

// scaling is the request of kubectl scale and autoscalers; rules for vmgroups alone do not cover it.
func scaling() admissionv1.NamedRuleWithOperations {
	return rule("vmgroups/scale", admissionv1.Update)
}

func rule(resource string, operations ...admissionv1.OperationType) admissionv1.NamedRuleWithOperations {
	return admissionv1.NamedRuleWithOperations{RuleWithOperations: admissionv1.RuleWithOperations{
		Operations: operations,
		Rule: admissionv1.Rule{
			APIGroups:   []string{v1alpha1.GroupVersion.Group},
			APIVersions: []string{v1alpha1.GroupVersion.Version},
			Resources:   []string{resource},
			Scope:       ptr.To(admissionv1.AllScopes),
		},
	}}
}

func matching(rules ...admissionv1.NamedRuleWithOperations) *admissionv1.MatchResources {
	return &admissionv1.MatchResources{MatchPolicy: ptr.To(admissionv1.Equivalent), ResourceRules: rules}
}

func managed() map[string]string {
	return map[string]string{"app.kubernetes.io/managed-by": FieldManager}
}
