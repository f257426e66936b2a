package objects

import (
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/config/crd"
)

// ofNamespace is the group's namespace. Its declared type has the UID under a name that its value does not have, so it is not checked.
const ofNamespace = `dyn(namespaceObject)`

// notGoing holds for objects that nobody has deleted yet: what is being deleted already must not be held up.
const notGoing = `oldObject != null && !has(oldObject.metadata.deletionTimestamp)`

// confirmed holds for an object, in that variable, whose annotation has the object's own UID.
func confirmed(object string) string {
	return fmt.Sprintf("%[1]s.metadata.?annotations[?'%[2]s'].orValue('') == %[1]s.metadata.uid", object, v1alpha1.ConfirmDeletionAnnotation)
}

// howToConfirm is the command that confirms the deletion of a kind of object; name and uid are expressions.
func howToConfirm(kind, name, uid string) string {
	return fmt.Sprintf(`'kubectl annotate %s ' + %s + ' --overwrite %s=' + %s`, kind, name, v1alpha1.ConfirmDeletionAnnotation, uid)
}

// deletionPolicy refuses to delete the CRDs of the operator unless that is confirmed, and VmGroups with spec.deletionProtection unless their
// namespace's deletion is. It fails open: what it guards against is a mistake, and a bug of ours must not keep anything from being deleted.
func deletionPolicy() *admissionv1.ValidatingAdmissionPolicy {
	definitions := rule("customresourcedefinitions", admissionv1.Delete)
	definitions.APIGroups, definitions.APIVersions = []string{"apiextensions.k8s.io"}, []string{"v1"}
	return &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: DeletionName, Labels: managed()},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy:    ptr.To(admissionv1.Ignore),
			MatchConstraints: matching(definitions, groups(admissionv1.Delete)),
			MatchConditions: []admissionv1.MatchCondition{
				{Name: "not-being-deleted", Expression: notGoing},
				{Name: "guarded", Expression: `request.resource.resource == 'vmgroups' || oldObject.metadata.name in ` +
					listOf([]string{crd.VmGroupName, crd.VmGroupLimitsName})},
			},
			Validations: []admissionv1.Validation{{
				Expression: `request.resource.resource != 'customresourcedefinitions' || ` + confirmed("oldObject"),
				Message:    "Deleting this CRD deletes all VmGroups of this cluster, or the limits that they keep to.",
				MessageExpression: `(oldObject.metadata.name == ` + quote(crd.VmGroupName) +
					` ? 'Deleting this CRD deletes all VmGroups of this cluster with their VMs'` +
					` : 'Deleting this CRD takes away the limits without which no VmGroup can be written') + '. If that is meant, confirm it and delete it again: ' + ` +
					howToConfirm("crd", "oldObject.metadata.name", "oldObject.metadata.uid"),
				Reason: ptr.To(metav1.StatusReasonForbidden),
			}, {
				Expression: `request.resource.resource != 'vmgroups' || oldObject.?spec.?deletionProtection.orValue('') != 'Enabled' || ` +
					confirmed(ofNamespace),
				Message: "spec.deletionProtection is Enabled. Set it to Disabled first.",
				MessageExpression: `'spec.deletionProtection is Enabled. If the VMs shall go, first set it to Disabled: kubectl patch vmgroup ' + oldObject.metadata.name +` +
					` ' -n ' + request.namespace + ' --type=merge -p ' + "'" + '{"spec":{"deletionProtection":"Disabled"}}' + "'" + '. If the whole namespace shall go, confirm that instead: ' + ` +
					howToConfirm("namespace", "request.namespace", ofNamespace+".metadata.uid"),
				Reason: ptr.To(metav1.StatusReasonForbidden),
			}},
		},
	}
}

// namespacesPolicy refuses to delete a namespace with protected groups unless that is confirmed. An expression sees no other objects but
// parameters. Here these are the groups: the API server says of a request about a namespace that it is in that namespace, and takes
// parameters without a namespace of their own from there. So it is a policy of its own: a request about a CRD is in none, and would be an error.
func namespacesPolicy() *admissionv1.ValidatingAdmissionPolicy {
	namespaces := rule("namespaces", admissionv1.Delete)
	namespaces.APIGroups, namespaces.APIVersions = []string{""}, []string{"v1"}
	return &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: NamespacesName, Labels: managed()},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			ParamKind:        &admissionv1.ParamKind{APIVersion: v1alpha1.GroupVersion.String(), Kind: "VmGroup"},
			FailurePolicy:    ptr.To(admissionv1.Ignore),
			MatchConstraints: matching(namespaces),
			MatchConditions:  []admissionv1.MatchCondition{{Name: "not-being-deleted", Expression: notGoing}},
			Validations: []admissionv1.Validation{{
				Expression: `params.?spec.?deletionProtection.orValue('') != 'Enabled' || ` + confirmed("oldObject"),
				Message:    "VmGroups in this namespace have spec.deletionProtection Enabled. Set it to Disabled first.",
				MessageExpression: `'VmGroup ' + params.metadata.name + ' has spec.deletionProtection Enabled, and would be deleted with its VMs. ` +
					`If that is meant, confirm it and delete it again: ' + ` +
					howToConfirm("namespace", "oldObject.metadata.name", "oldObject.metadata.uid"),
				Reason: ptr.To(metav1.StatusReasonForbidden),
			}},
		},
	}
}

// bindingTo puts a policy without parameters in force.
func bindingTo(policy string) *admissionv1.ValidatingAdmissionPolicyBinding {
	return &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: policy, Labels: managed()},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName:        policy,
			ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}
}

// bindingToLimits puts a policy in force that reads the limits, and refuses while there are none.
func bindingToLimits(policy string) *admissionv1.ValidatingAdmissionPolicyBinding {
	binding := bindingTo(policy)
	binding.Spec.ParamRef = &admissionv1.ParamRef{Name: v1alpha1.LimitsName, ParameterNotFoundAction: ptr.To(admissionv1.DenyAction)}
	return binding
}

// bindingToGroups puts a policy in force that reads all groups of the namespace that a request is about, and passes where there are none.
func bindingToGroups(policy string) *admissionv1.ValidatingAdmissionPolicyBinding {
	binding := bindingTo(policy)
	binding.Spec.ParamRef = &admissionv1.ParamRef{Selector: &metav1.LabelSelector{}, ParameterNotFoundAction: ptr.To(admissionv1.AllowAction)}
	return binding
}
