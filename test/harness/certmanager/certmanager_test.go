//go:build unix && e2e

package certmanager

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/internal/admission/trust"
	"github.com/codeconnect/vmgroup-operator/test/harness/kustomize"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

// namespace is the one of config/certmanager.
const namespace = "vmgroup-operator-system"

// patience is the timeout of all waits together; a loaded machine is slow.
const patience = 5 * time.Minute

// cluster is a control plane with a running cert-manager and the objects of config/certmanager.
func cluster(t *testing.T) client.Client {
	t.Helper()
	plane := localcluster.ForTest(t, "certificates")
	dir := t.TempDir()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(kubeconfig, plane.Kubeconfig(), 0o600); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	instance, err := Start(t.Context(), kubeconfig, dir, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("cert-manager was ready after %s", time.Since(began).Round(time.Millisecond))
	t.Cleanup(func() {
		if err := instance.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the log of cert-manager:\n%s", instance.Tail(40))
		}
	})
	result, err := client.New(plane.Config, client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	if err := result.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		t.Fatal(err)
	}
	strict := client.WithFieldValidation(result, metav1.FieldValidationStrict)
	for _, object := range manifests(t) {
		if err := strict.Create(t.Context(), object); err != nil {
			t.Fatalf("create %s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
	return result
}

// manifests are the objects of config/certmanager.
func manifests(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	all, err := kustomize.Build(t.Context(), "config/certmanager")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 4 {
		t.Fatalf("config/certmanager has %d objects, want two Issuers and two Certificates", len(all))
	}
	return all
}

func secret(ctx context.Context, t *testing.T, c client.Client, name string) map[string][]byte {
	t.Helper()
	var s corev1.Secret
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &s); err != nil {
		t.Fatal(err)
	}
	return s.Data
}

// signed fails unless that authority signed the leaf in a Secret.
func signed(t *testing.T, leafSecret map[string][]byte, authority []byte, want bool) *trust.Leaf {
	t.Helper()
	leaf, err := trust.ParseLeaf(trust.Pair{Certificate: leafSecret["tls.crt"], Key: leafSecret["tls.key"]})
	if err != nil {
		t.Fatal(err)
	}
	leaf.FindSigners(trust.ParseAuthorities(authority))
	if got := len(leaf.Signers) > 0; got != want {
		t.Fatalf("signed by the authority: %t, want %t", got, want)
	}
	return leaf
}

func TestIssuersIssueAndRenewAndTheInjectorTellsOfNewAuthorities(t *testing.T) {
	c := cluster(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, name := range []string{"vmgroup-operator-ca", "vmgroup-operator-webhook"} {
		if err := WaitReady(ctx, c, namespace, name); err != nil {
			t.Fatal(err)
		}
	}
	first := secret(ctx, t, c, "vmgroup-operator-ca")["tls.crt"]
	leaf := signed(t, secret(ctx, t, c, "vmgroup-operator-webhook-tls"), first, true)
	want := []string{"vmgroup-operator-webhook." + namespace + ".svc", "vmgroup-operator-hub." + namespace + ".svc"}
	if names := leaf.TLS.Leaf.DNSNames; !slices.Equal(names, want) {
		t.Errorf("the serving certificate is for %v", names)
	}

	configuration := &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{
			Name: "injected", Annotations: map[string]string{"cert-manager.io/inject-ca-from": namespace + "/vmgroup-operator-ca"},
		},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "never.called.example", AdmissionReviewVersions: []string{"v1"}, SideEffects: new(admissionv1.SideEffectClassNone),
			// It matches no object of this test: an API server of a test must not dial a Service.
			Rules:        []admissionv1.RuleWithOperations{},
			ClientConfig: admissionv1.WebhookClientConfig{URL: new("https://127.0.0.1:1/")},
		}},
	}
	if err := c.Create(ctx, configuration); err != nil {
		t.Fatal(err)
	}
	waitBundle(ctx, t, c, first)

	if err := Renew(ctx, c, namespace, "vmgroup-operator-ca"); err != nil {
		t.Fatal(err)
	}
	if err := WaitRevision(ctx, c, namespace, "vmgroup-operator-ca", 2); err != nil {
		t.Fatal(err)
	}
	second := secret(ctx, t, c, "vmgroup-operator-ca")["tls.crt"]
	if bytes.Equal(first, second) {
		t.Fatal("the authority was not renewed")
	}
	// Both, so that the hub's own kinds are always served; and the serving certificate stays that of the old authority.
	waitBundle(ctx, t, c, first, second)
	signed(t, secret(ctx, t, c, "vmgroup-operator-webhook-tls"), first, true)
	if err := Renew(ctx, c, namespace, "vmgroup-operator-webhook"); err != nil {
		t.Fatal(err)
	}
	if err := WaitRevision(ctx, c, namespace, "vmgroup-operator-webhook", 2); err != nil {
		t.Fatal(err)
	}
	renewed := secret(ctx, t, c, "vmgroup-operator-webhook-tls")
	signed(t, renewed, second, true)
	signed(t, renewed, first, false)
}

// waitBundle waits until the CA bundle of the configuration has exactly these authorities.
func waitBundle(ctx context.Context, t *testing.T, c client.Client, authorities ...[]byte) {
	t.Helper()
	want := trust.BundleHash(trust.ParseAuthorities(bytes.Join(authorities, []byte("\n"))))
	var got []byte
	err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		var configuration admissionv1.ValidatingWebhookConfiguration
		if err := c.Get(ctx, client.ObjectKey{Name: "injected"}, &configuration); err != nil {
			return false, err
		}
		got = configuration.Webhooks[0].ClientConfig.CABundle
		return trust.BundleHash(trust.ParseAuthorities(got)) == want, nil
	})
	if err != nil {
		t.Fatalf("the cainjector wrote %d authorities, want %d: %v", len(trust.ParseAuthorities(got)), len(authorities), err)
	}
}
