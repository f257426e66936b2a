package objects

import (
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// filled is a list of patches that set a missing required field, or an empty list if no policy has a default for it. The first policy
// with a default decides. A zero that the author wrote is not missing, and the schema refuses it.
func filled(field string) string {
	return strings.ReplaceAll(
		`(!has(object.spec.FIELD) && variables.defaults.exists(d, has(d.FIELD)) ?
    [JSONPatch{op: 'add', path: '/spec/FIELD', value: variables.defaults.filter(d, has(d.FIELD))[0].FIELD}] : [])`, "FIELD", field)
}

// filledVCenter does the same for spec.vcenter. VMs do not move between vCenters, so an update gets the group's previous value, if it is
// not empty.
const filledVCenter = `(has(object.spec.vcenter) && object.spec.vcenter != '' ? [] :
    oldObject == null && variables.defaults.exists(d, has(d.vcenter)) ?
      [JSONPatch{op: 'add', path: '/spec/vcenter', value: variables.defaults.filter(d, has(d.vcenter))[0].vcenter}] :
    oldObject != null && oldObject.?spec.?vcenter.orValue('') != '' ?
      [JSONPatch{op: 'add', path: '/spec/vcenter', value: oldObject.spec.vcenter}] : [])`

// unsized holds for a new group of full clones whose root disk has no size.
const unsized = `oldObject == null && !object.spec.?disks.?root.hasValue() && object.spec.?cloneMode.orValue('Full') == 'Full'`

// filledDisk does the same for the size of the root disk of such a group.
const filledDisk = `(` + unsized + ` && variables.defaults.exists(d, has(d.disk)) ?
    [has(object.spec.disks) ?
      JSONPatch{op: 'add', path: '/spec/disks/root', value: {'sizeGiB': variables.defaults.filter(d, has(d.disk))[0].disk}} :
      JSONPatch{op: 'add', path: '/spec/disks', value: {'root': {'sizeGiB': variables.defaults.filter(d, has(d.disk))[0].disk}}}] : [])`

// somethingMissing holds if the policy possibly has a default to set.
const somethingMissing = `!has(object.spec.cpu) || !has(object.spec.memory) || !has(object.spec.template) ||
  (!has(object.spec.vcenter) || object.spec.vcenter == '') &&
    (oldObject == null ? params.spec.?policies.orValue([]).exists(p, has(p.defaults) && has(p.defaults.vcenter)) : oldObject.?spec.?vcenter.orValue('') != '') ||
  ` + unsized + ` && params.spec.?policies.orValue([]).exists(p, has(p.defaults) && has(p.defaults.disk))`

// defaultsPolicy sets the fields that a group leaves out, so that it can be created while the hub is down. It has the same effect as the
// hub's webhook. If both run, the webhook finds no field left to set.
func defaultsPolicy() *admissionv1.MutatingAdmissionPolicy {
	return &admissionv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: Name, Labels: managed()},
		Spec: admissionv1.MutatingAdmissionPolicySpec{
			ParamKind: &admissionv1.ParamKind{APIVersion: v1alpha1.GroupVersion.String(), Kind: "VmGroupLimits"},
			// The schema refuses a missing field without a default, with a message that names the field.
			FailurePolicy:      ptr.To(admissionv1.Ignore),
			ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
			MatchConstraints:   matching(groups(admissionv1.Create, admissionv1.Update)),
			MatchConditions: []admissionv1.MatchCondition{
				// An evaluation of the policy costs a creation as much without a patch as with one.
				{Name: "something-missing", Expression: specChanges + " && " + hasSpec + " && !(" + inquires + ") && (" + somethingMissing + ")"},
			},
			Variables: []admissionv1.Variable{
				variable("labels", labelsOfNamespace),
				variable("matching", policiesOfNamespace),
				variable("defaults", `variables.matching.filter(p, has(p.defaults)).map(p, p.defaults)`),
			},
			Mutations: []admissionv1.Mutation{{
				PatchType: admissionv1.PatchTypeJSONPatch,
				JSONPatch: &admissionv1.JSONPatch{Expression: strings.Join([]string{
					filled("cpu"), filled("memory"), filled("template"), filledVCenter, filledDisk,
				}, " +\n  ")},
			}},
		},
	}
}

func defaultsBinding() *admissionv1.MutatingAdmissionPolicyBinding {
	return &admissionv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: Name, Labels: managed()},
		Spec: admissionv1.MutatingAdmissionPolicyBindingSpec{
			PolicyName: Name,
			ParamRef: &admissionv1.ParamRef{
				Name: v1alpha1.LimitsName, ParameterNotFoundAction: ptr.To(admissionv1.AllowAction),
			},
		},
	}
}
