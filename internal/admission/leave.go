package admission

import (
	"slices"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/admission/objects"
)

const (
	// claimNamespace and claimName name the ConfigMap that says which installation serves a member.
	claimNamespace = "kube-system"
	claimName      = "vmgroup-operator-claim"
)

// Step is one thing to do in a member that the operator leaves or has left.
type Step struct {
	// Why is a sentence for the person who does it; empty where the step before said it.
	Why string
	// Delete names what to delete if it is there; nil when the step is to let groups go.
	Delete *Target
	// LetGo removes this finalizer from all VmGroups; "" when the step is to delete something.
	LetGo string
}

// Target is an object as kubectl names it.
type Target struct {
	// Group is the API group, "" for the core one, and Resource the plural.
	Group, Resource string
	// Namespace is "" for what is cluster-scoped.
	Namespace, Name string
}

// Leave returns what has to be done in a member so that it is usable without the operator, in this order. Each step may be
// repeated, and none needs the hub. CRDs, VmGroups and VMs stay.
func Leave() []Step {
	var doors, limits []Step
	said := ""
	for _, identity := range objects.Known() {
		step := Step{Delete: &Target{Group: identity.Group, Resource: identity.Resource, Name: identity.Name}}
		if identity.Kind == "VmGroupLimits" {
			step.Why = "The limits. Until a moment after the bindings are gone, a policy that misses them refuses everything, also the above."
			limits = append(limits, step)
			continue
		}
		if why := whyRemoved(identity.Kind); why != said {
			step.Why, said = why, why
		}
		doors = append(doors, step)
	}
	letGo := Step{
		Why: "Nobody looks after the VmGroups any more. With the operator's finalizer, none of them could be deleted, nor their\n" +
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
		return "What calls the hub. With failurePolicy Fail nothing could be created or changed while it is away."
	case "MutatingAdmissionPolicyBinding", "ValidatingAdmissionPolicyBinding":
		return "What puts the policies in force."
	}
	return "The policies themselves, which do nothing without the above."
}
