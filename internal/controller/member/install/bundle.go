package install

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// Renderer says what the operator keeps in a member so that policy holds at their door. It knows policies,
// certificates and messages; this package knows how the objects get there and stay there. When it answers differently for some
// member, whoever installs has to be told.
type Renderer interface {
	// Objects returns what the member is to have now. It is asked often and by several goroutines, so it must be
	// cheap, safe for concurrent use, and must not wait for anything. An error is shown in the condition
	// AdmissionReady, changes nothing in the member, and is asked about again.
	Objects(Target) (Bundle, error)
	// CABundleHash is that of the bundle which Objects would return; "" when it would have no webhook configurations. The
	// target has no Exempt then, as it is asked for members that do not answer as well. The rules of Objects hold.
	CABundleHash(Target) string
}

// Target is a member to render for.
type Target struct {
	// Name and UID of the MemberCluster.
	Name string
	UID  types.UID
	// URL is spec.admission.url: where the member reaches the hub's webhooks; empty means the installation's default.
	URL string
	// FailurePolicy of the webhooks; never empty.
	FailurePolicy v1alpha1.AdmissionFailurePolicy
	// Exempt are the usernames under which the operator acts in the member, sorted.
	Exempt []string
	// ServesMutatingPolicies: the member serves admissionregistration.k8s.io/v1 mutatingadmissionpolicies.
	ServesMutatingPolicies bool
	// NotOurs: somebody else applies the objects (spec.manage None), and cannot be expected to do so again and again.
	NotOurs bool
	// Leaving: everything is to go. Only Known is read then, and Exempt is empty.
	Leaving bool
}

// Bundle is what a member is to have. Its objects are not changed after they were returned.
type Bundle struct {
	// Objects are cluster-scoped, complete as server-side apply wants them, and in the order of their installation: one
	// that does not exist yet is created only after those before it.
	Objects []*unstructured.Unstructured
	// Known are all objects that may ever be the operator's in a member, in the order of their removal. Those that are
	// not among Objects are removed.
	Known []Object
	// CABundleHash of the authorities in the webhook configurations among Objects; empty when there are none.
	CABundleHash string
	// SegmentPeriod is the period of the path segment in the webhook configurations; 0 is one that does not change.
	SegmentPeriod int64
	// NoWebhook is a sentence that says why there are none; empty when there are.
	NoWebhook string
}

// Object names a cluster-scoped object.
type Object struct {
	schema.GroupVersionKind
	Name string
}

// String is kind and name, for messages.
func (o Object) String() string { return o.Kind + " " + o.Name }

// nameOf names an object of a bundle.
func nameOf(object *unstructured.Unstructured) Object {
	return Object{object.GroupVersionKind(), object.GetName()}
}

// isWebhook reports whether the object tells an API server to call the hub. Its acceptance acknowledges the CA bundle.
func (o Object) isWebhook() bool {
	return o.Kind == "ValidatingWebhookConfiguration" || o.Kind == "MutatingWebhookConfiguration"
}

// IsParameter reports whether policies need the object to judge anything.
func (o Object) IsParameter() bool { return o.Kind == "VmGroupLimits" }
