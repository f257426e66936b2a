package install

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var definitionKind = apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition")

// installedCRD is what is read of a member's CRD. Its schemas are not: their types decode what is nested in them anew at each depth, so that a megabyte could
// take minutes, and a schema is half a kilobyte.
type installedCRD struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Names struct {
			Kind string `json:"kind"`
		} `json:"names"`
		Scope    apiextensionsv1.ResourceScope `json:"scope"`
		Versions []struct {
			Name   string `json:"name"`
			Served bool   `json:"served"`
		} `json:"versions"`
	} `json:"spec"`
	Status struct {
		Conditions []apiextensionsv1.CustomResourceDefinitionCondition `json:"conditions"`
	} `json:"status"`
}

// GetCRD returns the metadata of a CRD, the kind, scope and versions of its spec without their schemas, and the conditions of its status; nil when there is
// none.
func GetCRD(ctx context.Context, member client.Reader, name string) (*apiextensionsv1.CustomResourceDefinition, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(definitionKind)
	if err := member.Get(ctx, types.NamespacedName{Name: name}, object); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("read the CRD: %w", err)
	}
	read := installedCRD{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &read); err != nil {
		return nil, fmt.Errorf("read the CRD: %w", err)
	}
	definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: read.ObjectMeta}
	definition.Spec.Names.Kind, definition.Spec.Scope = read.Spec.Names.Kind, read.Spec.Scope
	for _, version := range read.Spec.Versions {
		definition.Spec.Versions = append(definition.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{Name: version.Name, Served: version.Served})
	}
	definition.Status.Conditions = read.Status.Conditions
	return definition, nil
}

// writeCRD has a CRD written. The answer is the object that was written, and is not decoded into its types, either; see [installedCRD].
func writeCRD(definition *apiextensionsv1.CustomResourceDefinition, write func(client.Object) error) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(definition)
	if err != nil {
		return fmt.Errorf("convert the CRD: %w", err)
	}
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(definitionKind)
	return write(object)
}
