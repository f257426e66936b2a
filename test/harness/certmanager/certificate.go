//go:build unix

package certmanager

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Kinds of cert-manager. Read and write them as unstructured objects.
var (
	CertificateKind = schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"}
	IssuerKind      = schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "Issuer"}
)

func getCertificate(ctx context.Context, cluster client.Client, namespace, name string) (*unstructured.Unstructured, error) {
	certificate := &unstructured.Unstructured{}
	certificate.SetGroupVersionKind(CertificateKind)
	err := cluster.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, certificate)
	return certificate, err
}

func conditions(object *unstructured.Unstructured) []any {
	all, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	return all
}

func isTrue(object *unstructured.Unstructured, conditionType string) bool {
	for _, each := range conditions(object) {
		if condition, ok := each.(map[string]any); ok && condition["type"] == conditionType {
			return condition["status"] == "True"
		}
	}
	return false
}

// Revision returns how often a Certificate was issued, or 0.
func Revision(ctx context.Context, cluster client.Client, namespace, name string) (int64, error) {
	certificate, err := getCertificate(ctx, cluster, namespace, name)
	if err != nil {
		return 0, fmt.Errorf("read the Certificate %s: %w", name, err)
	}
	revision, _, err := unstructured.NestedInt64(certificate.Object, "status", "revision")
	return revision, err
}

// Renew requests a new certificate immediately, as `cmctl renew` does. It does not wait for it; see [WaitRevision].
func Renew(ctx context.Context, cluster client.Client, namespace, name string) error {
	for {
		certificate, err := getCertificate(ctx, cluster, namespace, name)
		if err != nil {
			return fmt.Errorf("renew the Certificate %s: %w", name, err)
		}
		var all []any
		for _, each := range conditions(certificate) {
			if condition, ok := each.(map[string]any); ok && condition["type"] != "Issuing" {
				all = append(all, each)
			}
		}
		all = append(all, map[string]any{
			"type": "Issuing", "status": "True", "reason": "ManuallyTriggered", "message": "Renewed by a test",
			"lastTransitionTime": time.Now().UTC().Format(time.RFC3339), "observedGeneration": certificate.GetGeneration(),
		})
		if err := unstructured.SetNestedSlice(certificate.Object, all, "status", "conditions"); err != nil {
			return err
		}
		err = cluster.Status().Update(ctx, certificate)
		if !apierrors.IsConflict(err) { // a conflict with a cert-manager controller, which writes several times in a row
			return err
		}
	}
}

// WaitReady waits until a Certificate is Ready or ctx ends.
func WaitReady(ctx context.Context, cluster client.Client, namespace, name string) error {
	return WaitRevision(ctx, cluster, namespace, name, 1)
}

// WaitRevision waits until a Certificate is Ready and has been issued that often, or ctx ends.
func WaitRevision(ctx context.Context, cluster client.Client, namespace, name string, revision int64) error {
	var last *unstructured.Unstructured
	err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		certificate, err := getCertificate(ctx, cluster, namespace, name)
		if err != nil {
			return false, client.IgnoreNotFound(err)
		}
		last = certificate
		now, _, _ := unstructured.NestedInt64(certificate.Object, "status", "revision")
		return now >= revision && isTrue(certificate, "Ready") && !isTrue(certificate, "Issuing"), nil
	})
	if err != nil && last != nil {
		return fmt.Errorf("the Certificate %s did not get to revision %d: %w; its conditions: %v", name, revision, err, conditions(last))
	}
	return err
}
