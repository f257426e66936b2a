//go:build unix && e2e

package addons

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

// aCertificate is self-signed.
const aCertificate = `
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: self, namespace: default}
spec: {selfSigned: {}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: web, namespace: default}
spec:
  secretName: web-tls
  dnsNames: [web.default.svc]
  issuerRef: {name: self}
`

func TestCertManagerIssuesFromAPod(t *testing.T) {
	if err := localcluster.Preflight(); err != nil {
		// A test of localcluster covers the hub's response then.
		t.Logf("this machine cannot run a hub: %v", err)
		return
	}
	hub, err := localcluster.StartHub(t.Context(), localcluster.HubOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hub.Stop(); err != nil {
			t.Error(err)
		}
	})
	began := time.Now()
	if err := InstallCertManager(t.Context(), hub, os.Stderr); err != nil {
		t.Fatal(err)
	}
	t.Logf("cert-manager worked after %s", time.Since(began).Round(100*time.Millisecond))
	if err := apply(t.Context(), hub, aCertificate); err != nil {
		t.Fatal(err)
	}
	cluster, err := client.New(hub.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var last error
	err = wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 5*time.Minute, true, func(ctx context.Context) (bool, error) {
		var secret corev1.Secret
		last = cluster.Get(ctx, client.ObjectKey{Namespace: "default", Name: "web-tls"}, &secret)
		if last == nil && len(secret.Data[corev1.TLSCertKey]) == 0 {
			last = fmt.Errorf("the Secret has no certificate")
		}
		return last == nil, nil
	})
	if err != nil {
		t.Errorf("no certificate: %v", last)
	}
}
