package crds

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

// FieldManager is the operator's field manager for the objects that it installs.
const FieldManager = "vmgroup-operator"

// Kind is the kind of CustomResourceDefinitions.
var Kind = apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition")

// installedCRD is the part of a CRD that the operator reads. It omits the schemas: their types decode nested content again at each depth. A schema needs
// half a kilobyte, but a megabyte could take minutes.
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

// Get returns the metadata of a CRD, the kind, scope and versions of its spec without their schemas, and the conditions of its status. It returns nil if the
// CRD does not exist.
func Get(ctx context.Context, cluster client.Reader, name string) (*apiextensionsv1.CustomResourceDefinition, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(Kind)
	if err := cluster.Get(ctx, types.NamespacedName{Name: name}, object); err != nil {
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

// Install creates or replaces the CRD if its standing is Missing or Older. installed is the result of [Get]. Every other CRD stays: a member can serve two
// hubs in turn, and after a rollback of the operator the fields of the later release keep their values.
func Install(ctx context.Context, cluster client.Client, installed, wanted *apiextensionsv1.CustomResourceDefinition) error {
	standing, next := StandingOf(installed, wanted), wanted
	switch standing {
	case Missing:
	case Older:
		// Because next has the resource version of installed, the API server refuses to replace a CRD that changed in between.
		next = replacement(installed, wanted)
	default:
		return nil
	}
	// The API server answers with the written object, which must not be decoded into its types either. See [installedCRD].
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(next)
	if err != nil {
		return fmt.Errorf("convert the CRD: %w", err)
	}
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(Kind)
	if standing == Missing {
		return cluster.Create(ctx, object, client.FieldOwner(FieldManager))
	}
	return cluster.Update(ctx, object, client.FieldOwner(FieldManager))
}
