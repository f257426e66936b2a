package objects

import (
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/config/crd"
)

// ofNamespace is the group's namespace. Its declared type has the UID under another name than its value, so dyn turns type checks off.
const ofNamespace = `dyn(namespaceObject)`

// notGoing holds for objects that are not being deleted: the policy must not delay a deletion in progress.
const notGoing = `oldObject != null && !has(oldObject.metadata.deletionTimestamp)`

// confirmed holds for an object, in the named variable, whose annotation equals the object's own UID.
func confirmed(object string) string {
	return fmt.Sprintf("%[1]s.metadata.?annotations[?'%[2]s'].orValue('') == %[1]s.metadata.uid", object, v1alpha1.ConfirmDeletionAnnotation)
}

// howToConfirm is the command that confirms the deletion of an object of a kind; name and uid are expressions.
func howToConfirm(kind, name, uid string) string {
	return fmt.Sprintf(`'kubectl annotate %s ' + %s + ' --overwrite %s=' + %s`, kind, name, v1alpha1.ConfirmDeletionAnnotation, uid)
}

// deletionPolicy refuses to delete the CRDs of the operator unless their deletion is confirmed. It refuses to delete VmGroups with
// spec.deletionProtection unless the deletion of their namespace is confirmed. It fails open: it protects against mistakes, and a bug of the
// operator must not prevent deletions.
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
				MessageExpression: `'spec.deletionProtection is Enabled. To delete the VMs, first set it to Disabled: kubectl patch vmgroup ' + oldObject.metadata.name +` +
					` ' -n ' + request.namespace + ' --type=merge -p ' + "'" + '{"spec":{"deletionProtection":"Disabled"}}' + "'" + '. To delete the whole namespace, confirm that instead: ' + ` +
					howToConfirm("namespace", "request.namespace", ofNamespace+".metadata.uid"),
				Reason: ptr.To(metav1.StatusReasonForbidden),
			}},
		},
	}
}

// namespacesPolicy refuses to delete a namespace with protected groups unless that is confirmed. An expression can read no other objects than
// parameters. Here, the groups are the parameters. The API server searches for parameters in the request's namespace, which for a request about
// a namespace is that namespace. This is a separate policy, because a request about a CRD has no namespace and would be an error.
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

func bindingTo(policy string) *admissionv1.ValidatingAdmissionPolicyBinding {
	return &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: policy, Labels: managed()},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName:        policy,
			ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}
}

// bindingToLimits binds a policy that reads the limits. It refuses requests while the limits do not exist.
func bindingToLimits(policy string) *admissionv1.ValidatingAdmissionPolicyBinding {
	binding := bindingTo(policy)
	binding.Spec.ParamRef = &admissionv1.ParamRef{Name: v1alpha1.LimitsName, ParameterNotFoundAction: ptr.To(admissionv1.DenyAction)}
	return binding
}

// bindingToGroups binds a policy that reads all groups of the request's namespace. It allows the request if there are none.
func bindingToGroups(policy string) *admissionv1.ValidatingAdmissionPolicyBinding {
	binding := bindingTo(policy)
	binding.Spec.ParamRef = &admissionv1.ParamRef{Selector: &metav1.LabelSelector{}, ParameterNotFoundAction: ptr.To(admissionv1.AllowAction)}
	return binding
}
