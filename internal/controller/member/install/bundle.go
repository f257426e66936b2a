package install

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// Renderer returns the objects that enforce policy at admission in a member. It contains policies, certificates and messages;
// this package installs the objects and keeps them. When the answer changes for any member, the installer must be notified.
type Renderer interface {
	// Objects returns the objects that the member must have now. It is called often and by several goroutines, so it must be
	// cheap, safe for concurrent use, and must not wait. An error is shown in the condition AdmissionReady, changes nothing in
	// the member, and causes another call.
	Objects(Target) (Bundle, error)
	// CABundleHash is that of the bundle which Objects would return; "" if it would have no webhook configurations. The target
	// has no Exempt then, because members that do not answer have a hash as well. The rules of Objects apply.
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
	// Exempt are the usernames of the operator in the member, sorted.
	Exempt []string
	// ServesMutatingPolicies: the member serves admissionregistration.k8s.io/v1 mutatingadmissionpolicies.
	ServesMutatingPolicies bool
	// NotOurs: the objects are managed outside the operator (spec.manage None), where they cannot be applied repeatedly.
	NotOurs bool
	// Leaving: the operator removes all objects. Only Known is read then, and Exempt is empty.
	Leaving bool
}

// Bundle contains the objects that a member must have. They are not changed after they are returned.
type Bundle struct {
	// Objects are cluster-scoped, complete for server-side apply, and in the order of their installation: a missing one is
	// created only after those before it.
	Objects []*unstructured.Unstructured
	// Known are all objects that the operator can ever own in a member, in the order of their removal. Those that are not among
	// Objects are removed.
	Known []Object
	// CABundleHash of the authorities in the webhook configurations among Objects; empty if there are none.
	CABundleHash string
	// SegmentPeriod is the period of the path segment in the webhook configurations; 0 is one that does not change.
	SegmentPeriod int64
	// NoWebhook is a sentence with the reason why there are none; empty if there are.
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

// isWebhook reports whether the object makes an API server call the hub. If the member accepts it, it acknowledges the CA
// bundle.
func (o Object) isWebhook() bool {
	return o.Kind == "ValidatingWebhookConfiguration" || o.Kind == "MutatingWebhookConfiguration"
}

// IsParameter reports whether policies need the object to evaluate requests.
func (o Object) IsParameter() bool { return o.Kind == "VmGroupLimits" }
