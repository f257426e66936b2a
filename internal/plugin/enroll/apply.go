package enroll

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	manifests "github.com/codeconnect/vmgroup-operator/config"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
)

// fieldManager owns the fields that the plugin writes.
const fieldManager = "kubectl-vmgroup"

// memberObjects are the objects of a member, in the order of their creation.
func memberObjects() ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader([]byte(manifests.MemberRBAC()+"---\n"+manifests.MemberRenewal())), 4096)
	for {
		object := &unstructured.Unstructured{}
		switch err := decoder.Decode(object); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("read the built-in manifests: %w", err)
		case len(object.Object) > 0:
			all = append(all, object)
		}
	}
}

// journal has what a run has changed.
type journal struct {
	of *cluster.Cluster
	// created did not exist before this run.
	created []*unstructured.Unstructured
	// changed is the number of objects that this run has created or changed.
	changed int
}

// apply writes an object by server-side apply. It records whether that changed the object.
func (j *journal) apply(ctx context.Context, object *unstructured.Unstructured) error {
	before := &unstructured.Unstructured{}
	before.SetGroupVersionKind(object.GroupVersionKind())
	err := j.of.Get(ctx, client.ObjectKeyFromObject(object), before)
	if client.IgnoreNotFound(err) != nil {
		return j.explain(object, err)
	}
	isNew := apierrors.IsNotFound(err)
	written := object.DeepCopy()
	if err := j.of.Apply(ctx, client.ApplyConfigurationFromUnstructured(written), client.FieldOwner(fieldManager), client.ForceOwnership); err != nil {
		if isNew {
			j.findCreated(ctx, object)
		}
		return j.explain(object, err)
	}
	if isNew {
		j.created = append(j.created, written)
	}
	if isNew || !sameContent(before, written) {
		j.changed++
	}
	return nil
}

// findCreated records an object that was created although the answer was lost.
func (j *journal) findCreated(ctx context.Context, object *unstructured.Unstructured) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer cancel()
	found := &unstructured.Unstructured{}
	found.SetGroupVersionKind(object.GroupVersionKind())
	if err := j.of.Get(ctx, client.ObjectKeyFromObject(object), found); err == nil {
		j.created = append(j.created, found)
	}
}

// made reports whether this run has created an object of a kind.
func (j *journal) made(kind string) bool {
	return slices.ContainsFunc(j.created, func(object *unstructured.Unstructured) bool { return object.GetKind() == kind })
}

// sameContent compares two states of an object. The API server can write only its bookkeeping after the first of two equal applies.
func sameContent(a, b *unstructured.Unstructured) bool {
	a, b = a.DeepCopy(), b.DeepCopy()
	for _, object := range []*unstructured.Unstructured{a, b} {
		object.SetManagedFields(nil)
		object.SetResourceVersion("")
		delete(object.Object, "status") // others write it
	}
	return equality.Semantic.DeepEqual(a.Object, b.Object)
}

// rehearse sends what apply would send, as a dry run: it finds missing rights and refusals before anything is written. Objects in a namespace or of a
// role that does not exist yet cannot be rehearsed further.
func (j *journal) rehearse(ctx context.Context, objects ...*unstructured.Unstructured) error {
	for _, object := range objects {
		err := j.of.Apply(ctx, client.ApplyConfigurationFromUnstructured(object.DeepCopy()), client.FieldOwner(fieldManager), client.ForceOwnership, client.DryRunAll)
		if err != nil && !apierrors.IsNotFound(err) {
			return j.explain(object, err)
		}
	}
	return nil
}

// undo deletes what this run has created, in reverse order. It reports what stays.
func (j *journal) undo(ctx context.Context) error {
	var errs []error
	for _, object := range slices.Backward(j.created) {
		uid := object.GetUID()
		if err := j.of.Delete(ctx, object, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
			errs = append(errs, j.explain(object, err))
		}
	}
	return errors.Join(errs...)
}

func (j *journal) explain(object *unstructured.Unstructured, err error) error {
	failure := cluster.Explain(j.of.Context, j.of.Config.Host, err)
	return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), failure)
}
