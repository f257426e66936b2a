package crds

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/config/crd"
)

// versionFieldManager owns the version annotation of a CRD. Helm applies the CRDs of a chart over existing ones, including the version.
// It then gets a conflict instead of removing newer fields.
const versionFieldManager = "vmgroup-operator-crd-version"

var errNotYet = errors.New("the API server does not serve it yet")

// RefusedError is the reason why a CRD can be neither installed nor kept. A retry does not help.
type RefusedError struct{ Name, Why string }

// Error implements error.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("CustomResourceDefinition %s %s", e.Name, e.Why)
}

// Apply installs and upgrades the hub's CRDs, and waits until the API server serves them. It writes a line about each to out.
func Apply(ctx context.Context, hub client.Client, out io.Writer) error {
	return each(ctx, "apply", out, func(ctx context.Context, wanted *apiextensionsv1.CustomResourceDefinition) (said string, err error) {
		installed, err := Get(ctx, hub, wanted.Name)
		if err != nil {
			return "", err
		}
		if said, err = outcome(installed, wanted); err == nil {
			err = Install(ctx, hub, installed, wanted)
		}
		if err != nil {
			return "", err
		}
		return said, ownVersion(ctx, hub, wanted.Name)
	})
}

// outcome describes the result of [Install] on a hub's CRD for users, or returns a [RefusedError].
func outcome(installed, wanted *apiextensionsv1.CustomResourceDefinition) (said string, err error) {
	have, want := VersionOf(installed), VersionOf(wanted)
	switch StandingOf(installed, wanted) {
	case Missing:
		return fmt.Sprintf("installed, version %d", want), nil
	case Foreign:
		return "", &RefusedError{wanted.Name, fmt.Sprintf("is of kind %q and scope %q, which is not this operator's; remove it if it is not needed",
			installed.Spec.Names.Kind, installed.Spec.Scope)}
	case NewerUnusable:
		return "", &RefusedError{wanted.Name, fmt.Sprintf("has version %d, newer than this release's %d, and no longer serves %s; install a newer release",
			have, want, v1alpha1.GroupVersion.Version)}
	case Newer:
		return fmt.Sprintf("stays at version %d, newer than this release's %d", have, want), nil
	case Current:
		return fmt.Sprintf("is up to date, version %d", have), nil
	default:
		return fmt.Sprintf("upgraded to version %d", want), nil
	}
}

// ownVersion makes versionFieldManager an owner of the CRD's version annotation, whatever its value. It returns an error until the CRD is served.
func ownVersion(ctx context.Context, hub client.Client, name string) error {
	installed, err := Get(ctx, hub, name)
	if err == nil && VersionOf(installed) > 0 {
		patch := fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,"annotations":{%q:%q}}}`,
			apiextensionsv1.SchemeGroupVersion, Kind.Kind, name, crd.VersionAnnotation, installed.Annotations[crd.VersionAnnotation])
		err = hub.Patch(ctx, installed, client.RawPatch(types.ApplyYAMLPatchType, patch), client.FieldOwner(versionFieldManager), client.ForceOwnership)
	}
	if err == nil && (installed == nil || !IsEstablished(installed)) {
		err = errNotYet
	}
	return err
}

// each calls do for each of the hub's CRDs until it succeeds. It writes the first result for each CRD to out.
func each(ctx context.Context, what string, out io.Writer, do func(context.Context, *apiextensionsv1.CustomResourceDefinition) (said string, err error)) error {
	for _, ours := range crd.Hub() {
		first := ""
		err := again(ctx, func(ctx context.Context) error {
			said, err := do(ctx, ours)
			first = cmp.Or(first, said)
			return err
		})
		if err != nil {
			return fmt.Errorf("%s CustomResourceDefinition %s: %w", what, ours.Name, err)
		}
		_, _ = fmt.Fprintf(out, "%s %s\n", ours.Name, first)
	}
	return nil
}

// again repeats f until it succeeds, its error is final, or ctx ends. A refusal of the API server is not final, because the rights of a
// new job can take effect after its start.
func again(ctx context.Context, f func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		err := f(ctx)
		var refused *RefusedError
		if errors.As(err, &refused) || apierrors.IsInvalid(err) {
			return false, err
		}
		if err != nil && (last == nil || ctx.Err() == nil) { // an answer of the API server is more useful than the error of an expired ctx
			last = err
		}
		return err == nil, nil
	})
	if wait.Interrupted(err) && last != nil {
		return fmt.Errorf("not in time: %w", last)
	}
	return err
}
