package objects

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

const (
	// Name of all objects that the operator keeps in a member, except those that protect VmGroupLimits or guard against
	// deletion.
	Name = v1alpha1.LimitsName
	// ProtectionName is the name of the policy and the binding that protect VmGroupLimits.
	ProtectionName = "vmgroup-operator-protection"
	// DeletionName is the name of the policy and the binding that guard CRDs and groups against deletion.
	DeletionName = "vmgroup-operator-deletion"
	// NamespacesName is the name of the policy and the binding that guard namespaces against deletion.
	NamespacesName = "vmgroup-operator-deletion-namespaces"
	// FieldManager is the field manager of the server-side applies.
	FieldManager = "vmgroup-operator"
)

// Identity names an object of the operator in a member. All are cluster-scoped.
type Identity struct {
	schema.GroupVersionKind
	// Resource is the plural, as in a REST path.
	Resource string
	Name     string
}

func registered(kind, resource, name string) Identity {
	return Identity{GroupVersionKind: admissionv1.SchemeGroupVersion.WithKind(kind), Resource: resource, Name: name}
}

// Known returns all objects that a member can ever have, in the order in which they must be removed: first webhook
// configurations, then bindings, so that no request is checked by a policy whose parameter is missing. Installation uses
// the reverse order.
func Known() []Identity {
	return []Identity{
		registered("ValidatingWebhookConfiguration", "validatingwebhookconfigurations", Name),
		registered("MutatingWebhookConfiguration", "mutatingwebhookconfigurations", Name),
		registered("MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings", Name),
		registered("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", Name),
		registered("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", ProtectionName),
		registered("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", NamespacesName),
		registered("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", DeletionName),
		registered("MutatingAdmissionPolicy", "mutatingadmissionpolicies", Name),
		registered("ValidatingAdmissionPolicy", "validatingadmissionpolicies", Name),
		registered("ValidatingAdmissionPolicy", "validatingadmissionpolicies", ProtectionName),
		registered("ValidatingAdmissionPolicy", "validatingadmissionpolicies", NamespacesName),
		registered("ValidatingAdmissionPolicy", "validatingadmissionpolicies", DeletionName),
		{GroupVersionKind: v1alpha1.GroupVersion.WithKind("VmGroupLimits"), Resource: "vmgrouplimits", Name: v1alpha1.LimitsName},
	}
}
