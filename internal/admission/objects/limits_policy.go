package objects

import (
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// refusalInGeneral replaces the message of a violated rule that exceeds the limit of Kubernetes (5 KiB).
const refusalInGeneral = "the VmGroup breaks the policies of this cluster; see kubectl get vmgrouplimits " +
	v1alpha1.LimitsName + " -o yaml"

// of ends a message with the policy p whose rule is violated. The default limits have no name.
const of = `(has(p.name) ? ' of VmGroupPolicy "' + p.name + '"' : ' that holds by default: no VmGroupPolicy in mode Enforce limits it here')`

// byDefault is the field's default limit as a map entry, or no entry if an enforced policy sets one.
func byDefault(field string) string {
	return strings.ReplaceAll(
		`?'FIELD': variables.enforced.exists(p, has(p.FIELD)) ? optional.none() : params.spec.unmatched.?FIELD`, "FIELD", field)
}

// bounds are the rules about one numeric field of p, as links of a chain of conditions. The chain ends in the message of the first violated rule. If a
// limit was exceeded before, only a change for the worse violates it again. path is the path of the field in spec, and set holds for a spec with the field.
func bounds(field, path, set, unit, whenAbove, whenBelow string) string {
	return strings.NewReplacer("FIELD", field, "PATH", path, "SET", set, "UNIT", unit, "OF", of, "ABOVE", whenAbove, "BELOW", whenBelow).Replace(`
  has(p.FIELD) && has(p.FIELD.max) && SET && object.spec.PATH > p.FIELD.max && ABOVE ?
    'spec.PATH: Invalid value: ' + string(object.spec.PATH) + ': exceeds the maximum ' + string(p.FIELD.max) + 'UNIT' + OF :
  has(p.FIELD) && has(p.FIELD.min) && SET && object.spec.PATH < p.FIELD.min && BELOW ?
    'spec.PATH: Invalid value: ' + string(object.spec.PATH) + ': is below the minimum ' + string(p.FIELD.min) + 'UNIT' + OF :`)
}

// dataDisks is the rule about the largest data disk, as a link of the same chain.
const dataDisks = `
  has(p.disk) && has(p.disk.max) && variables.dataSizes.max() > p.disk.max && (variables.grows || variables.moreData) ?
    'spec.disks.data: Invalid value: ' + string(variables.dataSizes.max()) + ': exceeds the maximum ' + string(p.disk.max) + ' GiB' + ` + of + ` :`

// diskRequired is the rule about groups under a quota of storage, as a link of the same chain. A Scale does not show the size.
const diskRequired = `
  has(p.diskRequired) && p.diskRequired && !variables.scale && variables.disk == 0 && variables.replicas > 0 &&
    variables.templateDiffers ?
    'spec.disks.root.sizeGiB: Invalid value: 0: must be set, because the quota of VmGroupPolicy "' + p.name + '" limits storage' :`

// unusable is the rule about policies that cannot be used as written, as a link of the same chain.
const unusable = `
  has(p.refusal) && variables.worse ? 'spec: Forbidden: ' + p.refusal :`

// templates are the rules about spec.template, as links of the same chain. They refuse a template if every name that it can stand for is forbidden.
// They do not apply if a pattern with a slash could decide otherwise.
var templates = strings.NewReplacer("DENIES", namesMatch("d", "n"), "FIRST", namesMatch("d", "variables.templateNames[0]"), "ALLOWS", namesMatch("a", "n")).Replace(`
  has(p.templates) && has(p.templates.deny) && variables.templateDiffers && variables.templateNames.size() > 0 &&
    variables.templateNames.all(n, p.templates.deny.exists(d, !has(d.path) && DENIES)) ?
    'spec.template: Invalid value: ' + strings.quote(variables.template) + ': is denied by VmGroupPolicy "' + p.name + '": ' +
      p.templates.deny.filter(d, !has(d.path) && FIRST)[0].pattern :
  has(p.templates) && has(p.templates.allow) && variables.templateDiffers && variables.templateNames.size() > 0 &&
    !p.templates.allow.exists(a, has(a.path)) && !variables.templateNames.exists(n, p.templates.allow.exists(a, ALLOWS)) ?
    'spec.template: Invalid value: ' + strings.quote(variables.template) + ': matches none of the templates that VmGroupPolicy "' +
      p.name + '" allows: ' + p.templates.allowList :`)

// templateEnds are the ends of spec.template that can be a name with slashes, the shortest first. templateNames are those, and the same names as the
// API returns them: see policy.Candidates.
const (
	templateEnds = `variables.templateParts.size() == 0 ? ['/'] : variables.templateParts.size() > 12 ? [] :
  [12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1].filter(i, i == variables.templateParts.size() ||
    i < variables.templateParts.size() && (i > 2 || !variables.template.startsWith('/')))
    .map(i, variables.templateParts.join('/').lowerAscii().split('/', i)[i - 1])`
	templateNames = `!variables.template.contains('%') ? variables.templateEnds : variables.templateEnds +
  variables.templateEnds.map(n, n.replace('%2f', '/').replace('%5c', '\\').replace('%25', '%'))`
)

// limitsPolicy refuses groups and scalings that violate the limits or template lists of an enforced policy, with the message of the first violated
// rule. It decides like policy.Set.EvaluateUpdate, except for an undo. Of a Scale, it checks the replicas only.
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
				// The remaining default limits come last, as a policy without a name.
				variable("scale", `has(request.subResource) && request.subResource == 'scale'`),
				// The condition above ensures that object has a spec; the original operator accepted groups without one.
				variable("old", `oldObject != null && has(oldObject.spec) ? oldObject.spec : {}`),
				// A spec that was absent before is checked like a new one.
				variable("created", `!variables.scale && (oldObject == null || !has(oldObject.spec))`),
				// A Scale leaves out replicas when they are 0; for a group, the schema sets 1.
				variable("replicas", `has(object.spec.replicas) ? object.spec.replicas : variables.scale ? 0 : 1`),
				variable("oldReplicas", `has(variables.old.replicas) ? variables.old.replicas : variables.scale ? 0 : 1`),
				variable("grows", `variables.created || variables.replicas > variables.oldReplicas`),
				variable("cpu", `has(object.spec.cpu) ? object.spec.cpu : 0`),
				variable("oldCPU", `has(variables.old.cpu) ? variables.old.cpu : 0`),
				variable("memory", `has(object.spec.memory) ? object.spec.memory : 0`),
				variable("oldMemory", `has(variables.old.memory) ? variables.old.memory : 0`),
				variable("disk", `variables.scale ? 0 : object.spec.?disks.?root.?sizeGiB.orValue(0)`),
				variable("oldDisk", `variables.scale ? 0 : variables.old.?disks.?root.?sizeGiB.orValue(0)`),
				variable("data", `variables.scale ? [] : object.spec.?disks.?data.orValue([])`),
				variable("dataSizes", `[0] + variables.data.map(d, d.sizeGiB)`),
				variable("oldDataSizes", `[0] + (variables.scale ? [] : variables.old.?disks.?data.orValue([])).map(d, d.sizeGiB)`),
				variable("moreData", `variables.dataSizes.max() > variables.oldDataSizes.max() || variables.dataSizes.sum() > variables.oldDataSizes.sum()`),
				variable("template", `has(object.spec.template) ? object.spec.template : ''`),
				variable("templateParts", `variables.template.split('/').filter(part, part != '')`),
				variable("templateEnds", templateEnds),
				variable("templateNames", templateNames),
				variable("templateDiffers", `variables.template != '' && (variables.grows ||
  !has(variables.old.template) || variables.old.template != variables.template)`),
				variable("worse", `variables.grows || variables.cpu > variables.oldCPU || variables.memory > variables.oldMemory ||
  variables.disk > variables.oldDisk || variables.moreData || variables.templateDiffers`),
				variable("refusals", `(variables.enforced + [dyn({`+byDefault("cpu")+`,
  `+byDefault("memory")+`,
  `+byDefault("disk")+`,
  `+byDefault("replicas")+`})]).map(p,`+unusable+
					bounds("cpu", "cpu", `has(object.spec.cpu)`, "", `(variables.grows || variables.cpu > variables.oldCPU)`, `(variables.grows || variables.cpu < variables.oldCPU)`)+
					bounds("memory", "memory", `has(object.spec.memory)`, " GiB", `(variables.grows || variables.memory > variables.oldMemory)`,
						`(variables.grows || variables.memory < variables.oldMemory)`)+
					bounds("disk", "disks.root.sizeGiB", `variables.disk != 0`, " GiB", `(variables.grows || variables.disk > variables.oldDisk)`,
						`(variables.grows || variables.oldDisk == 0 || variables.disk < variables.oldDisk)`)+dataDisks+diskRequired+
					// A decrease always passes, even below a minimum.
					bounds("replicas", "replicas", `has(object.spec.replicas)`, "", `variables.grows`, `variables.created`)+
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
