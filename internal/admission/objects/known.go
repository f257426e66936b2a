package objects

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

const (
	// Name of everything that the operator keeps in a member, apart from what guards VmGroupLimits.
	Name = v1alpha1.LimitsName
	// ProtectionName is the name of the policy and the binding that guard VmGroupLimits.
	ProtectionName = "vmgroup-operator-protection"
	// DeletionName is the name of the policy and the binding that guard CRDs and groups against deletion.
	DeletionName = "vmgroup-operator-deletion"
	// NamespacesName is the name of those that guard namespaces.
	NamespacesName = "vmgroup-operator-deletion-namespaces"
	// FieldManager is the field manager of the server-side applies.
	FieldManager = "vmgroup-operator"
)

// Identity names an object of the operator in a member. All are cluster-scoped.
type Identity struct {
	schema.GroupVersionKind
	// Resource is the plural, as a REST path has it.
	Resource string
	Name     string
}

func registered(kind, resource, name string) Identity {
	return Identity{GroupVersionKind: admissionv1.SchemeGroupVersion.WithKind(kind), Resource: resource, Name: name}
}

// Known returns everything that may ever be in a member, in the order in which it has to be removed: what calls the hub
// first, then what binds a policy, so that no request meets a policy whose parameter is gone. Installation is the reverse.
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
