package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/config/crd"
)

const (
	// crdFieldManager names the operator in managedFields of what it installs, as in members.
	crdFieldManager = "vmgroup-operator"
	// versionFieldManager owns the version that a CRD is stamped with. Helm applies the CRDs of a chart that it installs over those
	// that exist, and with them the stamp of its version: it then meets a conflict instead of taking newer fields away.
	versionFieldManager = "vmgroup-operator-crd-version"
)

var (
	errCRDsCommand = errors.New("say manager crds apply or manager crds remove; see manager crds --help")
	errNotYet      = errors.New("the API server does not serve it yet")
	errStillThere  = errors.New("it is still being deleted")
)

func crdsCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "crds", Short: "Install, upgrade or remove the hub's CustomResourceDefinitions",
		RunE: func(*cobra.Command, []string) error { return errCRDsCommand },
	}
	timeout := c.PersistentFlags().Duration("timeout", time.Minute, "For how long what fails is tried again, and for how long the API server may take.")
	add := func(name, short string, run func(context.Context, client.Client, io.Writer) error) {
		c.AddCommand(&cobra.Command{
			Use: name, Short: short, Args: cobra.NoArgs,
			RunE: func(c *cobra.Command, _ []string) error {
				ctx, cancel := context.WithTimeout(c.Context(), *timeout)
				defer cancel()
				hub, err := crdClient()
				if err != nil {
					return err
				}
				return run(ctx, hub, c.OutOrStdout())
			},
		})
	}
	add("apply", "Install those that are missing and upgrade older ones; nothing is ever downgraded", applyCRDs)
	add("remove", "Delete those of which no object is left; the others stay", removeCRDs)
	return c
}

func crdClient() (client.Client, error) {
	kubeconfig, err := config.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("find the hub's API server: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("build the scheme: %w", err)
	}
	hub, err := client.New(kubeconfig, client.Options{Scheme: scheme, Mapper: crdMapper()})
	if err != nil {
		return nil, fmt.Errorf("connect to the hub: %w", err)
	}
	return hub, nil
}

// applyCRDs installs and upgrades the hub's CRDs and waits until they are served.
func applyCRDs(ctx context.Context, hub client.Client, out io.Writer) error {
	for _, wanted := range crd.Hub() {
		said := ""
		err := again(ctx, func(ctx context.Context) (err error) {
			if said, err = applyCRD(ctx, hub, wanted); err != nil {
				return err
			}
			return ownVersion(ctx, hub, wanted.Name)
		})
		if err == nil {
			err = again(ctx, func(ctx context.Context) error { return crdServed(ctx, hub, wanted.Name) })
		}
		if err != nil {
			return fmt.Errorf("apply CustomResourceDefinition %s: %w", wanted.Name, err)
		}
		_, _ = fmt.Fprintf(out, "%s %s\n", wanted.Name, said)
	}
	return nil
}

func applyCRD(ctx context.Context, hub client.Client, wanted *apiextensionsv1.CustomResourceDefinition) (said string, err error) {
	installed, err := readCRD(ctx, hub, wanted.Name)
	if err != nil {
		return "", err
	}
	next, said, err := nextCRD(installed, wanted)
	switch {
	case err != nil || next == nil:
	case installed == nil:
		err = hub.Create(ctx, next, client.FieldOwner(crdFieldManager))
	default:
		// The version that was read goes along: one that changed in between is looked at again.
		err = hub.Update(ctx, next, client.FieldOwner(crdFieldManager))
	}
	return said, err
}

// ownVersion makes the operator an owner of the version that a CRD is stamped with, whatever it is.
func ownVersion(ctx context.Context, hub client.Client, name string) error {
	installed, err := readCRD(ctx, hub, name)
	if err != nil || installed == nil || crd.VersionOf(installed) == 0 {
		return err
	}
	patch := fmt.Appendf(nil, `{"apiVersion":%q,"kind":"CustomResourceDefinition","metadata":{"name":%q,"annotations":{%q:%q}}}`,
		apiextensionsv1.SchemeGroupVersion, name, crd.VersionAnnotation, installed.Annotations[crd.VersionAnnotation])
	return hub.Patch(ctx, installed, client.RawPatch(types.ApplyYAMLPatchType, patch), client.FieldOwner(versionFieldManager), client.ForceOwnership)
}

func crdServed(ctx context.Context, hub client.Client, name string) error {
	installed, err := readCRD(ctx, hub, name)
	if err == nil && (installed == nil || !crd.IsEstablished(installed)) {
		err = errNotYet
	}
	return err
}

// removeCRDs deletes the CRDs that this operator installed and of which no object is left. An object that is created
// between the look and the deletion goes with its CRD; nobody should create any, since the operator has gone.
func removeCRDs(ctx context.Context, hub client.Client, out io.Writer) error {
	for _, ours := range crd.Hub() {
		said := ""
		err := again(ctx, func(ctx context.Context) (err error) {
			said, err = removeCRD(ctx, hub, ours)
			return err
		})
		if err != nil {
			return fmt.Errorf("remove CustomResourceDefinition %s: %w", ours.Name, err)
		}
		_, _ = fmt.Fprintf(out, "%s %s\n", ours.Name, said)
	}
	return nil
}

func removeCRD(ctx context.Context, hub client.Client, ours *apiextensionsv1.CustomResourceDefinition) (said string, err error) {
	installed, err := readCRD(ctx, hub, ours.Name)
	switch {
	case err != nil:
		return "", err
	case installed == nil:
		return "is not there", nil
	case installed.DeletionTimestamp != nil:
		return "", errStillThere
	case crd.VersionOf(installed) == 0 || installed.Spec.Names.Kind != ours.Spec.Names.Kind:
		return "stays: this operator did not install it", nil
	case !crd.IsServed(installed):
		return "stays: this release cannot read whether there are objects of it", nil
	}
	left := &metav1.PartialObjectMetadataList{}
	left.SetGroupVersionKind(schema.GroupVersionKind{
		Group: installed.Spec.Group, Version: v1alpha1.GroupVersion.Version, Kind: installed.Spec.Names.Kind + "List",
	})
	if err := hub.List(ctx, left, client.Limit(1)); err != nil {
		return "", fmt.Errorf("look for objects: %w", err)
	}
	if len(left.Items) > 0 {
		return fmt.Sprintf("stays: there are objects of it, for example %q", client.ObjectKeyFromObject(&left.Items[0])), nil
	}
	// Members and hubs refuse to delete a CRD of ours that nobody confirmed.
	if !v1alpha1.DeletionConfirmed(installed) {
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.ConfirmDeletionAnnotation, installed.UID)
		if err := hub.Patch(ctx, installed, client.RawPatch(types.MergePatchType, patch)); err != nil {
			return "", fmt.Errorf("confirm its deletion: %w", err)
		}
	}
	if err := hub.Delete(ctx, installed, client.Preconditions{UID: &installed.UID, ResourceVersion: &installed.ResourceVersion}); err != nil {
		return "", err
	}
	return "removed", again(ctx, func(ctx context.Context) error {
		installed, err := readCRD(ctx, hub, ours.Name)
		if err == nil && installed != nil {
			err = errStillThere
		}
		return err
	})
}

func readCRD(ctx context.Context, hub client.Reader, name string) (*apiextensionsv1.CustomResourceDefinition, error) {
	installed := &apiextensionsv1.CustomResourceDefinition{}
	err := hub.Get(ctx, client.ObjectKey{Name: name}, installed)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read it: %w", err)
	}
	return installed, nil
}

// again repeats f until it succeeds, what it says is final, or ctx ends. A job that was just created may run before its
// rights are known everywhere, so a refusal by the API server is not final either.
func again(ctx context.Context, f func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		err := f(ctx)
		var refused *crdRefused
		if errors.As(err, &refused) || apierrors.IsInvalid(err) {
			return false, err
		}
		if err != nil && (last == nil || ctx.Err() == nil) { // an answer says more than that there was no time for one
			last = err
		}
		return err == nil, nil
	})
	if wait.Interrupted(err) && last != nil {
		return fmt.Errorf("not in time: %w", last)
	}
	return err
}
