package admission

import (
	"slices"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/admission/objects"
)

const (
	// claimNamespace and claimName identify the ConfigMap that names the installation that serves a member.
	claimNamespace = "kube-system"
	claimName      = "vmgroup-operator-claim"
)

// Step is one action in a member that the operator leaves or has left.
type Step struct {
	// Why explains the step to its user; empty if the previous step's text also covers this one.
	Why string
	// Delete identifies the object to delete if it exists; nil if the step removes finalizers.
	Delete *Target
	// LetGo is the finalizer to remove from all VmGroups; "" if the step deletes an object.
	LetGo string
}

// Target identifies an object as kubectl does.
type Target struct {
	// Group is the API group, "" for the core group. Resource is the plural.
	Group, Resource string
	// Namespace is "" for cluster-scoped objects.
	Namespace, Name string
}

// Leave returns the steps that make a member usable without the operator, in this order. Each step can be repeated, and
// none needs the hub. CRDs, VmGroups and VMs stay.
func Leave() []Step {
	var doors, limits []Step
	said := ""
	for _, identity := range objects.Known() {
		step := Step{Delete: &Target{Group: identity.Group, Resource: identity.Resource, Name: identity.Name}}
		if identity.Kind == "VmGroupLimits" {
			step.Why = "The limits. Until shortly after the bindings are deleted, a policy that misses them refuses everything, also the above."
			limits = append(limits, step)
			continue
		}
		if why := whyRemoved(identity.Kind); why != said {
			step.Why, said = why, why
		}
		doors = append(doors, step)
	}
	letGo := Step{
		Why: "No operator serves the VmGroups any more. With the operator's finalizer, none of them could be deleted, nor their\n" +
			"namespaces. Their VMs stay in vCenter as they are.",
		LetGo: v1alpha1.VmGroupFinalizer,
	}
	claim := Step{
		Why:    "The claim keeps other hubs from serving this cluster.",
		Delete: &Target{Resource: "configmaps", Namespace: claimNamespace, Name: claimName},
	}
	return slices.Concat(doors, []Step{letGo}, limits, []Step{claim})
}

func whyRemoved(kind string) string {
	switch kind {
	case "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration":
		return "What calls the hub. With failurePolicy Fail nothing could be created or changed while the hub is unreachable."
	case "MutatingAdmissionPolicyBinding", "ValidatingAdmissionPolicyBinding":
		return "What puts the policies in force."
	}
	return "The policies themselves, which do nothing without the above."
}
