package objects

import (
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// ErrNoIdentity is returned when no exempt username is given: nobody, the operator included, could then ever write the
// limits of the member.
var ErrNoIdentity = errors.New("no username of the operator is known in the member")

// Input is what the objects of one member are rendered from.
type Input struct {
	// Limits are the compiled policies of the member; see [Compile].
	Limits v1alpha1.VmGroupLimitsSpec
	// Member is the name of the MemberCluster.
	Member string
	// WebhookBase is the https URL of the hub's webhook server as the member reaches it, without the path; "" when the
	// member has none.
	WebhookBase string
	// Segment is the part of the webhook's path that only this member and the hub know.
	Segment string
	// CABundle are the authorities, as PEM, that the member shall trust when it calls the webhook; empty when there are none yet.
	CABundle []byte
	// FailurePolicy of the webhooks; empty is Ignore.
	FailurePolicy v1alpha1.AdmissionFailurePolicy
	// Exempt are the usernames in the member under which the operator works: they write VmGroupLimits and pass the webhooks.
	Exempt []string
	// Writers are further usernames that may write VmGroupLimits: of a tool that applies the bundle in the operator's place.
	Writers []string
	// ServesMutatingPolicies says that the member serves mutatingadmissionpolicies of admissionregistration.k8s.io/v1.
	ServesMutatingPolicies bool
}

// Bundle is everything that a member shall have.
type Bundle struct {
	// Objects in the order in which they have to be applied, ready for a server-side apply. What is in [Known] and not
	// in here has to be removed.
	Objects []*unstructured.Unstructured
	// CABundleHash is the [BundleHash] of what the webhook configurations carry; "" when there are none.
	CABundleHash string
	// NoWebhook is a sentence that says why there are no webhook configurations; "" when there are.
	NoWebhook string
}
