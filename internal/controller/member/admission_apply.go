package member

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// refusal is an object that the member's API server did not take, or did not delete.
type refusal struct {
	object AdmissionObject
	err    error
}

// applied is what came of applying a bundle.
type applied struct {
	// versions of the objects that are in place; see [versionOf].
	versions map[AdmissionObject]string
	// refused objects, in the order in which they were tried.
	refused []refusal
	// webhooks: the member has the webhook configurations of the bundle, and no others of ours.
	webhooks bool
}

// applier puts a bundle into a member. Each request is bounded by the API's Timings.Request.
type applier struct {
	api    *memberAPI
	result applied
}

// applyBundle removes what is not in the bundle any more and applies what is. An object that is refused does not keep
// others from being updated, so that a member which refuses one kind still learns a new CA bundle; but nothing new is
// created after it, since a binding without its parameters would refuse everything. The order alone would not do: when
// the operator's username changes, the policy that protects the parameters has to learn it before they can be written.
// An error means that the member did not answer, or that this replica leads no more.
func applyBundle(ctx context.Context, api *memberAPI, bundle AdmissionBundle) (applied, error) {
	a := &applier{api: api, result: applied{versions: map[AdmissionObject]string{}, webhooks: true}}
	wanted := make([]AdmissionObject, 0, len(bundle.Objects))
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
		if len(a.result.refused) > 0 {
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
		object = object.DeepCopy() // the answer is written into it
		err := a.request(ctx, func(ctx context.Context) error {
			return api.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(fieldManager), client.ForceOwnership)
		})
		if err := a.note(wanted[i], err); err != nil {
			return a.result, err
		}
		if err == nil {
			a.result.versions[wanted[i]] = versionOf(object)
		}
	}
	return a.result, nil
}

// errNotInOrder: an object is not created because one before it was refused.
var errNotInOrder = errors.New("not created, since another object was refused")

// note keeps a refusal, and returns every error that is none.
func (a *applier) note(object AdmissionObject, err error) error {
	if err == nil {
		return nil
	}
	if object.isWebhook() {
		a.result.webhooks = false
	}
	if errors.Is(err, errNotInOrder) {
		return nil
	}
	if !answered(err) {
		return fmt.Errorf("%s: %w", object, err)
	}
	a.result.refused = append(a.result.refused, refusal{object, err})
	return nil
}

func (a *applier) request(ctx context.Context, send func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, a.api.timings.Request)
	defer cancel()
	return send(ctx)
}

func (a *applier) remove(ctx context.Context, object AdmissionObject) error {
	current, err := getMetadata(ctx, a.api, object)
	if err != nil || current == nil {
		return err
	}
	return a.request(ctx, func(ctx context.Context) error {
		return client.IgnoreNotFound(a.api.client.Delete(ctx, current, client.Preconditions{UID: ptr.To(current.UID)}))
	})
}

// answered reports whether err is an API server's answer that another request need not get as well. One that does not
// accept the credentials gives no other.
func answered(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && !apierrors.IsUnauthorized(err)
}

// getMetadata returns the object's metadata, nil when there is no such object or the member does not serve its kind.
func getMetadata(ctx context.Context, api *memberAPI, object AdmissionObject) (*metav1.PartialObjectMetadata, error) {
	ctx, cancel := context.WithTimeout(ctx, api.timings.Request)
	defer cancel()
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(object.GroupVersionKind)
	if err := api.client.Get(ctx, types.NamespacedName{Name: object.Name}, metadata); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return metadata, nil
}

// versionOf changes when somebody changes what an object says, or deletes and creates it. The resource version would
// change with status as well, which controllers of the member write.
func versionOf(object metav1.Object) string {
	if generation := object.GetGeneration(); generation > 0 {
		return string(object.GetUID()) + "/" + strconv.FormatInt(generation, 10)
	}
	return string(object.GetUID()) + "/" + object.GetResourceVersion()
}
