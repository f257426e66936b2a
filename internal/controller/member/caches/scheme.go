package caches

import (
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
)

// NewScheme returns the scheme of a member's clients: the few kinds that the operator reads and writes there.
func NewScheme() *runtime.Scheme {
	return remote.SchemeOf(map[schema.GroupVersion][]runtime.Object{
		v1alpha1.GroupVersion:       {&v1alpha1.VmGroup{}, &v1alpha1.VmGroupList{}, &v1alpha1.VmGroupLimits{}, &v1alpha1.VmGroupLimitsList{}},
		corev1.SchemeGroupVersion:   {&corev1.Namespace{}, &corev1.NamespaceList{}, &corev1.Secret{}, &corev1.ConfigMap{}},
		eventsv1.SchemeGroupVersion: {&eventsv1.Event{}, &eventsv1.EventList{}},
	})
}

// Objects are synced before a member is engaged. They must include every kind that the feed of the fleet lists and watches: the engagement then
// does not wait for the member.
func Objects() []client.Object {
	return []client.Object{&v1alpha1.VmGroup{}, NamespaceMetadata()}
}

// NamespaceMetadata is a namespace without its spec and status.
func NamespaceMetadata() *metav1.PartialObjectMetadata {
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return metadata
}
