package remote

import (
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// SchemeOf returns a scheme with only the requested kinds. The answer itself names the kind into which it is decoded, whatever
// was requested, as long as the scheme has it. The check follows later. So a member's server could have a Pod decoded, whose
// quantities take any time and memory, or a CRD.
func SchemeOf(kinds map[schema.GroupVersion][]runtime.Object) *runtime.Scheme {
	scheme := runtime.NewScheme()
	for of, objects := range kinds {
		scheme.AddKnownTypes(of, objects...)
		metav1.AddToGroupVersion(scheme, of)
	}
	return scheme
}

// NewScheme is the scheme of the requests that join a member. CRDs and admission objects are read and written as maps.
func NewScheme() *runtime.Scheme {
	return SchemeOf(map[schema.GroupVersion][]runtime.Object{
		corev1.SchemeGroupVersion:           {&corev1.Namespace{}, &corev1.ConfigMap{}, &corev1.ServiceAccount{}},
		authenticationv1.SchemeGroupVersion: {&authenticationv1.SelfSubjectReview{}, &authenticationv1.TokenRequest{}},
	})
}
