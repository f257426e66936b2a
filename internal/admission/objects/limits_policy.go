package objects

import (
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// refusalInGeneral stands in when the message of a broken rule is longer than Kubernetes passes on (5 KiB).
const refusalInGeneral = "the VmGroup breaks the policies of this cluster; see kubectl get vmgrouplimits " +
	v1alpha1.LimitsName + " -o yaml"

// of ends a message with the policy p whose rule is broken. The default limits have no name.
const of = `(has(p.name) ? ' of VmGroupPolicy "' + p.name + '"' : ' that holds by default: no VmGroupPolicy in mode Enforce limits it here')`

// byDefault is the field's default limit as an entry of a map, or no entry where an enforced policy sets one.
func byDefault(field string) string {
	return strings.ReplaceAll(
		`?'FIELD': variables.enforced.exists(p, has(p.FIELD)) ? optional.none() : params.spec.unmatched.?FIELD`, "FIELD", field)
}

// bounds are the rules about one numeric field of p, as links of a chain of conditions that ends in the message of the
// first that is broken. A bound that was broken before is broken anew by what makes it worse only.
func bounds(field, unit, whenAbove, whenBelow string) string {
	return strings.NewReplacer("FIELD", field, "UNIT", unit, "OF", of, "ABOVE", whenAbove, "BELOW", whenBelow).Replace(`
  has(p.FIELD) && has(p.FIELD.max) && has(object.spec.FIELD) && object.spec.FIELD > p.FIELD.max && ABOVE ?
    'spec.FIELD: Invalid value: ' + string(object.spec.FIELD) + ': exceeds the maximum ' + string(p.FIELD.max) + 'UNIT' + OF :
  has(p.FIELD) && has(p.FIELD.min) && has(object.spec.FIELD) && object.spec.FIELD < p.FIELD.min && BELOW ?
    'spec.FIELD: Invalid value: ' + string(object.spec.FIELD) + ': is below the minimum ' + string(p.FIELD.min) + 'UNIT' + OF :`)
}

// unusable is the rule about policies that cannot be used as they are written, as a link of the same chain.
const unusable = `
  has(p.refusal) && variables.worse ? 'spec: Forbidden: ' + p.refusal :`

// templates are the rules about spec.template, as links of the same chain. They refuse what each name that may be meant forbids, and
// say nothing where a pattern with a slash could decide otherwise.
var templates = strings.NewReplacer("DENIES", namesMatch("d", "n"), "FIRST", namesMatch("d", "variables.templateNames[0]"), "ALLOWS", namesMatch("a", "n")).Replace(`
  has(p.templates) && has(p.templates.deny) && variables.templateDiffers && variables.templateNames.size() > 0 &&
    variables.templateNames.all(n, p.templates.deny.exists(d, !has(d.path) && DENIES)) ?
    'spec.template: Invalid value: ' + strings.quote(variables.template) + ': is denied by VmGroupPolicy "' + p.name + '": ' +
      p.templates.deny.filter(d, !has(d.path) && FIRST)[0].pattern :
  has(p.templates) && has(p.templates.allow) && variables.templateDiffers && variables.templateNames.size() > 0 &&
    !p.templates.allow.exists(a, has(a.path)) && !variables.templateNames.exists(n, p.templates.allow.exists(a, ALLOWS)) ?
    'spec.template: Invalid value: ' + strings.quote(variables.template) + ': matches none of the templates that VmGroupPolicy "' +
      p.name + '" allows: ' + p.templates.allowList :`)

// templateEnds are the ends of spec.template that may be a name with slashes, the shortest first, and templateNames those and what they are as the API
// has them: see policy.Candidates.
const (
	templateEnds = `variables.templateParts.size() == 0 ? ['/'] : variables.templateParts.size() > 12 ? [] :
  [12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1].filter(i, i == variables.templateParts.size() ||
    i < variables.templateParts.size() && (i > 2 || !variables.template.startsWith('/')))
    .map(i, variables.templateParts.join('/').lowerAscii().split('/', i)[i - 1])`
	templateNames = `!variables.template.contains('%') ? variables.templateEnds : variables.templateEnds +
  variables.templateEnds.map(n, n.replace('%2f', '/').replace('%5c', '\\').replace('%25', '%'))`
)

// limitsPolicy refuses groups and scalings that break the limits or template lists of an enforced policy, with the message of
// the first broken rule. It decides as policy.Set.EvaluateUpdate does, but for an undo. Of a Scale it sees the replicas only.
func limitsPolicy() *admissionv1.ValidatingAdmissionPolicy {
	return &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: Name, Labels: managed()},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			ParamKind:        &admissionv1.ParamKind{APIVersion: v1alpha1.GroupVersion.String(), Kind: "VmGroupLimits"},
			FailurePolicy:    ptr.To(admissionv1.Fail),
			MatchConstraints: matching(groups(admissionv1.Create, admissionv1.Update), scaling()),
			MatchConditions: []admissionv1.MatchCondition{
				{Name: "spec-changes", Expression: specChanges + " && " + hasSpec},
			},
			Variables: []admissionv1.Variable{
				variable("labels", labelsOfNamespace),
				variable("enforced", `(`+policiesOfNamespace+`).filter(p, p.enforced)`),
				// What is left of the default limits comes last, as a policy without a name.
				variable("scale", `has(request.subResource) && request.subResource == 'scale'`),
				// The condition above sees to it that object has one; the original operator accepted groups without.
				variable("old", `oldObject != null && has(oldObject.spec) ? oldObject.spec : {}`),
				// A spec where there was none before is judged as a new one.
				variable("created", `!variables.scale && (oldObject == null || !has(oldObject.spec))`),
				// A Scale leaves out replicas when they are 0; in a group, the schema fills in 1.
				variable("replicas", `has(object.spec.replicas) ? object.spec.replicas : variables.scale ? 0 : 1`),
				variable("oldReplicas", `has(variables.old.replicas) ? variables.old.replicas : variables.scale ? 0 : 1`),
				variable("grows", `variables.created || variables.replicas > variables.oldReplicas`),
				variable("cpu", `has(object.spec.cpu) ? object.spec.cpu : 0`),
				variable("oldCPU", `has(variables.old.cpu) ? variables.old.cpu : 0`),
				variable("memory", `has(object.spec.memory) ? object.spec.memory : 0`),
				variable("oldMemory", `has(variables.old.memory) ? variables.old.memory : 0`),
				variable("template", `has(object.spec.template) ? object.spec.template : ''`),
				variable("templateParts", `variables.template.split('/').filter(part, part != '')`),
				variable("templateEnds", templateEnds),
				variable("templateNames", templateNames),
				variable("templateDiffers", `variables.template != '' && (variables.grows ||
  !has(variables.old.template) || variables.old.template != variables.template)`),
				variable("worse", `variables.grows || variables.cpu > variables.oldCPU || variables.memory > variables.oldMemory ||
  variables.templateDiffers`),
				variable("refusals", `(variables.enforced + [dyn({`+byDefault("cpu")+`,
  `+byDefault("memory")+`,
  `+byDefault("replicas")+`})]).map(p,`+unusable+
					bounds("cpu", "", `(variables.grows || variables.cpu > variables.oldCPU)`, `(variables.grows || variables.cpu < variables.oldCPU)`)+
					bounds("memory", " GiB", `(variables.grows || variables.memory > variables.oldMemory)`,
						`(variables.grows || variables.memory < variables.oldMemory)`)+
					// Shrinking always passes, also to below a minimum.
					bounds("replicas", "", `variables.grows`, `variables.created`)+
					templates+`
  '').filter(refusal, refusal != '')`),
				variable("revisions", `oldObject.?status.?revisions.orValue([])`),
				variable("goesBack", goesBack),
			},
			Validations: []admissionv1.Validation{{
				Expression:        `variables.refusals.size() == 0 || variables.goesBack`,
				Message:           refusalInGeneral,
				MessageExpression: `variables.refusals.size() == 0 ? '' : variables.refusals[0]`,
				Reason:            ptr.To(metav1.StatusReasonInvalid),
			}},
		},
	}
}
