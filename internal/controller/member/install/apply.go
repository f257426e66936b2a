package install

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/crds"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// Refusal is an object that the member's API server refused to write or delete.
type Refusal struct {
	Object Object
	Err    error
}

// Applied is the result of applying a bundle.
type Applied struct {
	// Versions of the objects that are in place; see [VersionIn].
	Versions map[Object]string
	// Refused objects, in the order in which they were tried.
	Refused []Refusal
	// Webhooks: the member has the webhook configurations of the bundle, and no others of the operator.
	Webhooks bool
}

// applier applies a bundle to a member. Each request is bounded; see [remote.API.Bounded].
type applier struct {
	api    *remote.API
	result Applied
}

// Apply removes objects that left the bundle and applies the current ones. After a refusal it still updates the other objects,
// so that a member which refuses one kind still gets a new CA bundle. It creates no new object after a refusal, since a binding
// without its parameters would refuse everything. The order alone is not enough: when the operator's username changes, the
// policy that protects the parameters must get it before they can be written. An error means that the member did not answer, or
// that this replica no longer leads.
func Apply(ctx context.Context, api *remote.API, bundle Bundle) (Applied, error) {
	a := &applier{api: api, result: Applied{Versions: map[Object]string{}, Webhooks: true}}
	wanted := make([]Object, 0, len(bundle.Objects))
	for _, object := range bundle.Objects {
		wanted = append(wanted, nameOf(object))
	}
	for _, known := range bundle.Known {
		if slices.Contains(wanted, known) {
			continue
		}
		if err := a.note(known, a.remove(ctx, known)); err != nil {
			return a.result, err
		}
	}
	for i, object := range bundle.Objects {
		if len(a.result.Refused) > 0 {
			current, err := getMetadata(ctx, api, wanted[i])
			if err == nil && current == nil {
				err = errNotInOrder
			}
			if err != nil {
				if err := a.note(wanted[i], err); err != nil {
					return a.result, err
				}
				continue
			}
		}
		object = object.DeepCopy() // the client writes the answer into it
		err := a.request(ctx, func(ctx context.Context) error {
			return api.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(FieldManager), client.ForceOwnership)
		})
		if err := a.note(wanted[i], err); err != nil {
			return a.result, err
		}
		if err == nil {
			a.result.Versions[wanted[i]] = versionOf(object)
		}
	}
	return a.result, nil
}

// errNotInOrder: an object is not created because one before it was refused.
var errNotInOrder = errors.New("not created, since another object was refused")

// note records a refusal, and returns every other error.
func (a *applier) note(object Object, err error) error {
	if err == nil {
		return nil
	}
	if object.isWebhook() {
		a.result.Webhooks = false
	}
	if errors.Is(err, errNotInOrder) {
		return nil
	}
	if !remote.Answered(err) {
		return fmt.Errorf("%s: %w", object, err)
	}
	a.result.Refused = append(a.result.Refused, Refusal{object, err})
	return nil
}

func (a *applier) request(ctx context.Context, send func(context.Context) error) error {
	ctx, cancel := a.api.Bounded(ctx)
	defer cancel()
	return send(ctx)
}

func (a *applier) remove(ctx context.Context, object Object) error {
	current, err := getMetadata(ctx, a.api, object)
	if err != nil || current == nil {
		return err
	}
	return a.request(ctx, func(ctx context.Context) error {
		return client.IgnoreNotFound(a.api.Client.Delete(ctx, current, client.Preconditions{UID: ptr.To(current.UID)}))
	})
}

// getMetadata returns the object's metadata, or nil if there is no such object or the member does not serve its kind.
func getMetadata(ctx context.Context, api *remote.API, object Object) (*metav1.PartialObjectMetadata, error) {
	ctx, cancel := api.Bounded(ctx)
	defer cancel()
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(object.GroupVersionKind)
	if err := api.Client.Get(ctx, types.NamespacedName{Name: object.Name}, metadata); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return metadata, nil
}

// CRDMetadata returns the metadata of a member's CRD, or nil if there is none. It stays in memory. So it has no labels and
// managed fields, and only the annotation that confirms a deletion, if its length is valid.
func CRDMetadata(ctx context.Context, api *remote.API, name string) (*metav1.PartialObjectMetadata, error) {
	found, err := getMetadata(ctx, api, Object{crds.Kind, name})
	if found == nil {
		return nil, err
	}
	confirmed, confirms := found.Annotations[v1alpha1.ConfirmDeletionAnnotation]
	found.Labels, found.Annotations, found.ManagedFields, found.OwnerReferences, found.Finalizers = nil, nil, nil, nil, nil
	if confirms && len(confirmed) <= len(found.UID) {
		found.Annotations = map[string]string{v1alpha1.ConfirmDeletionAnnotation: confirmed}
	}
	return found, err
}

// Remove removes objects in the order given, and returns those that the member's API server refused to delete. It continues after
// a refusal. An error means that the member did not answer, or that this replica no longer leads.
func Remove(ctx context.Context, api *remote.API, objects []Object) ([]Refusal, error) {
	a := &applier{api: api}
	for _, object := range objects {
		if err := a.note(object, a.remove(ctx, object)); err != nil {
			return nil, err
		}
	}
	return a.result.Refused, nil
}

// VersionIn returns the version of the object in the member, "" if it has none or does not serve its kind.
func VersionIn(ctx context.Context, api *remote.API, object Object) (string, error) {
	current, err := getMetadata(ctx, api, object)
	if err != nil || current == nil {
		return "", err
	}
	return versionOf(current), nil
}

// versionOf changes if the content of an object changes, or if the object is deleted and created again. The resource version would also
// change with status, which controllers of the member write. versionOf is stored, so it keeps only the beginning of a value that is longer
// than those of API servers.
func versionOf(object metav1.Object) string {
	uid, version := string(object.GetUID()), object.GetResourceVersion()
	if generation := object.GetGeneration(); generation > 0 {
		version = strconv.FormatInt(generation, 10)
	}
	return uid[:min(len(uid), untrusted.MaxResourceVersion)] + "/" + version[:min(len(version), untrusted.MaxResourceVersion)]
}
