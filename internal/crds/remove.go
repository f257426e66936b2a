package crds

import (
	"context"
	"errors"
	"fmt"
	"io"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

var errStillThere = errors.New("it is still being deleted")

// Remove deletes the hub's CRDs that this operator installed and that have no objects. An object that is created between the check and the deletion is deleted with its CRD.
// The operator is uninstalled by then, so users must not create any.
func Remove(ctx context.Context, hub client.Client, out io.Writer) error {
	return each(ctx, "remove", out, func(ctx context.Context, ours *apiextensionsv1.CustomResourceDefinition) (string, error) {
		return remove(ctx, hub, ours)
	})
}

// remove does one step. After the deletion it returns an error until the CRD is deleted.
func remove(ctx context.Context, hub client.Client, ours *apiextensionsv1.CustomResourceDefinition) (said string, err error) {
	installed, err := Get(ctx, hub, ours.Name)
	switch {
	case err != nil:
		return "", err
	case installed == nil:
		return "is not there", nil
	case installed.DeletionTimestamp != nil:
		return "", errStillThere
	case VersionOf(installed) == 0 || installed.Spec.Names.Kind != ours.Spec.Names.Kind:
		return "stays: this operator did not install it", nil
	case !IsServed(installed):
		return "stays: this release cannot read whether there are objects of it", nil
	}
	left := &metav1.PartialObjectMetadataList{}
	left.SetGroupVersionKind(schema.GroupVersionKind{
		Group: ours.Spec.Group, Version: v1alpha1.GroupVersion.Version, Kind: ours.Spec.Names.Kind + "List",
	})
	if err := hub.List(ctx, left, client.Limit(1)); err != nil {
		return "", fmt.Errorf("look for objects: %w", err)
	}
	if len(left.Items) > 0 {
		return fmt.Sprintf("stays: there are objects of it, for example %q", client.ObjectKeyFromObject(&left.Items[0])), nil
	}
	// Members and hubs refuse to delete a CRD of the operator without confirmation.
	if !v1alpha1.DeletionConfirmed(installed) {
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.ConfirmDeletionAnnotation, installed.UID)
		if err := hub.Patch(ctx, installed, client.RawPatch(types.MergePatchType, patch)); err != nil {
			return "", fmt.Errorf("confirm its deletion: %w", err)
		}
	}
	if err := hub.Delete(ctx, installed, client.Preconditions{UID: &installed.UID, ResourceVersion: &installed.ResourceVersion}); err != nil {
		return "", err
	}
	return "removed", errStillThere
}
