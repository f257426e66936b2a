package objects

import (
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// ErrNoIdentity is returned if no exempt username is given: then no user, not even the operator, could write the limits of the
// member.
var ErrNoIdentity = errors.New("no username of the operator is known in the member")

// Input is the data from which the objects of one member are rendered.
type Input struct {
	// Limits are the compiled policies of the member; see [Compile].
	Limits v1alpha1.VmGroupLimitsSpec
	// Member is the name of the MemberCluster.
	Member string
	// WebhookBase is the https URL at which the member reaches the hub's webhook server, without the path; "" if the member has
	// none.
	WebhookBase string
	// Segment is the part of the webhook's path that only this member and the hub know.
	Segment string
	// CABundle are the authorities, as PEM, that the member must trust when it calls the webhook; empty if there are none yet.
	CABundle []byte
	// FailurePolicy of the webhooks; empty is Ignore.
	FailurePolicy v1alpha1.AdmissionFailurePolicy
	// Exempt are the operator's usernames in the member: they can write VmGroupLimits and bypass the webhooks.
	Exempt []string
	// Writers are further usernames that can write VmGroupLimits: those of a tool that applies the bundle instead of the
	// operator.
	Writers []string
	// ServesMutatingPolicies is true if the member serves mutatingadmissionpolicies of admissionregistration.k8s.io/v1.
	ServesMutatingPolicies bool
}

// Bundle has all objects of a member.
type Bundle struct {
	// Objects in the order in which they must be applied, ready for a server-side apply. Objects of [Known] that are missing here
	// must be removed.
	Objects []*unstructured.Unstructured
	// CABundleHash is the [BundleHash] of the webhook configurations; "" if there are none.
	CABundleHash string
	// NoWebhook is a sentence with the reason for missing webhook configurations; "" if they are present.
	NoWebhook string
}
