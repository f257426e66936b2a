package member

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// Admission renders what the operator keeps in members so that policy holds at their door. It knows policies,
// certificates and messages; this package knows how the objects get there and stay there. When it answers differently for some
// member, it tells [Provider.AdmissionChanged].
type Admission interface {
	// Objects returns what the member is to have now. It is asked often and by several goroutines, so it must be
	// cheap, safe for concurrent use, and must not wait for anything. An error is shown in the condition
	// AdmissionReady, changes nothing in the member, and is asked about again.
	Objects(AdmissionTarget) (AdmissionBundle, error)
	// CABundleHash is that of the bundle which Objects would return; "" when it would have no webhook configurations. The
	// target has no Exempt then, as it is asked for members that do not answer as well. The rules of Objects hold.
	CABundleHash(AdmissionTarget) string
}

// AdmissionTarget is a member to render for.
type AdmissionTarget struct {
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
	// Leaving: everything is to go. Only Known is read then, and Exempt is empty.
	Leaving bool
}

// AdmissionBundle is what a member is to have. Its objects are not changed after they were returned.
type AdmissionBundle struct {
	// Objects are cluster-scoped, complete as server-side apply wants them, and in the order of their installation: one
	// that does not exist yet is created only after those before it.
	Objects []*unstructured.Unstructured
	// Known are all objects that may ever be the operator's in a member, in the order of their removal. Those that are
	// not among Objects are removed.
	Known []AdmissionObject
	// CABundleHash of the authorities in the webhook configurations among Objects; empty when there are none.
	CABundleHash string
	// NoWebhook is a sentence that says why there are none; empty when there are.
	NoWebhook string
}

// AdmissionObject names a cluster-scoped object.
type AdmissionObject struct {
	schema.GroupVersionKind
	Name string
}

// String is kind and name, for messages.
func (o AdmissionObject) String() string { return o.Kind + " " + o.Name }

// nameOf names an object of a bundle.
func nameOf(object *unstructured.Unstructured) AdmissionObject {
	return AdmissionObject{object.GroupVersionKind(), object.GetName()}
}

// isWebhook reports whether the object tells an API server to call the hub. Its acceptance acknowledges the CA bundle.
func (o AdmissionObject) isWebhook() bool {
	return o.Kind == "ValidatingWebhookConfiguration" || o.Kind == "MutatingWebhookConfiguration"
}

// isParameter reports whether policies need the object to judge anything.
func (o AdmissionObject) isParameter() bool { return o.Kind == "VmGroupLimits" }

// admissionSettings are spec.admission; they change without a new connection.
type admissionSettings struct {
	url           string
	failurePolicy v1alpha1.AdmissionFailurePolicy
}

func admissionSettingsOf(spec *v1alpha1.MemberClusterSpec) admissionSettings {
	result := admissionSettings{failurePolicy: v1alpha1.AdmissionIgnore}
	if spec.Admission != nil {
		result.url = spec.Admission.URL
		result.failurePolicy = cmp.Or(spec.Admission.FailurePolicy, v1alpha1.AdmissionIgnore)
	}
	return result
}

// exempt sorts usernames and drops repetitions.
func exempt(usernames ...string) []string {
	slices.Sort(usernames)
	return slices.Compact(usernames)
}

// AdmissionChanged tells the Provider that its Admission answers differently now. It does not block: the admission objects of all
// members are looked at soon.
func (p *Provider) AdmissionChanged() {
	p.mu.RLock()
	for _, c := range p.connections {
		c.wakeAdmission()
	}
	p.mu.RUnlock()
	// Members that cannot be reached are behind now, and their status says so.
	p.lookAtAll()
}
