package webhookcall

import (
	"bytes"
	"encoding/json"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// Creation returns the review for the creation of a group.
func Creation(g *v1alpha1.VmGroup) []byte {
	group := g.DeepCopy()
	group.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("VmGroup"))
	object, err := json.Marshal(group)
	if err != nil {
		panic(err) // strings and numbers can always be encoded
	}
	return creationOf(g.Namespace, g.Name, object)
}

// creationOf returns the review for the creation of any object. It inserts the object without encoding it, because encoding/json would
// refuse a hostile one.
func creationOf(namespace, name string, object []byte) []byte {
	const place = `"the object"`
	kind := metav1.GroupVersionKind(v1alpha1.GroupVersion.WithKind("VmGroup"))
	resource := metav1.GroupVersionResource{Group: kind.Group, Version: kind.Version, Resource: "vmgroups"}
	text, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "2f6f9f4e-5d3e-4b1c-9a53-000000000001", Operation: admissionv1.Create, Namespace: namespace, Name: name,
			Kind: kind, RequestKind: &kind, Resource: resource, RequestResource: &resource,
			Object: runtime.RawExtension{Raw: []byte(place)},
		},
	})
	if err != nil {
		panic(err)
	}
	return bytes.Replace(text, []byte(place), object, 1)
}
