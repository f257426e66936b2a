//go:build e2e

package e2e

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/admission/trust"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/certmanager"
)

const (
	authority          = "vmgroup-operator-ca"
	servingCertificate = "vmgroup-operator-webhook"
)

// certificatesAreRenewedUnderLoad makes cert-manager renew the authority and the certificate under load. The operator
// serves the new certificate once all members know its authority.
func certificatesAreRenewedUnderLoad(t *testing.T) {
	people := startCrowd(t)
	people.more(leastCreates)
	former := authorities(t)
	renew(t, authority)
	renewed := authorities(t)
	if renewed.Equal(former) {
		t.Fatal("the authority is the same as before")
	}
	// The issuer signs with the authority in its cache, which can still be the former one.
	for renew(t, servingCertificate); !signed(t, renewed); renew(t, servingCertificate) {
		t.Log("the issuer signed with the former authority")
	}
	var nudged time.Time
	for _, pod := range pods(t) {
		await.Until(t, "Pod "+pod.Name+" to serve what the new authority signed", func(ctx context.Context) (bool, error) {
			if time.Since(nudged) > nudge {
				nudged = time.Now()
				if err := refreshVolumes(ctx, nudged); err != nil {
					return false, err
				}
			}
			return serves(ctx, pod.Status.PodIP, renewed)
		}, func() string { return rotation(context.Background(), renewed) })
	}
	people.more(leastCreates)
	people.enough()
	people.stop()
	oneAtATime(t)
}

// renew makes cert-manager issue a Certificate anew, and waits until it did.
func renew(t *testing.T, name string) {
	t.Helper()
	revision, err := certmanager.Revision(t.Context(), world.hub, namespace, name)
	must(t, err)
	must(t, certmanager.Renew(t.Context(), world.hub, namespace, name))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	must(t, certmanager.WaitRevision(ctx, world.hub, namespace, name, revision+1))
}

// nudge is the time between two requests to refresh volumes.
const nudge = 5 * time.Second

// refreshVolumes makes the kubelet read the Secrets of the operator's Pods. A kubelet does so after each change of a Pod, and otherwise
// every 60 to 90 seconds.
func refreshVolumes(ctx context.Context, now time.Time) error {
	all, err := operatorPods(ctx)
	if err != nil {
		return err
	}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"test.example.com/refresh":%q}}}`, now.Format(time.RFC3339Nano))
	for i := range all {
		if err := world.hub.Patch(ctx, &all[i], client.RawPatch(types.MergePatchType, patch)); err != nil {
			return err
		}
	}
	return nil
}

// authorities is cert-manager's current signing authority.
func authorities(t *testing.T) *x509.CertPool {
	t.Helper()
	secret := &corev1.Secret{}
	must(t, world.hub.Get(t.Context(), ref(namespace, authority), secret))
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(secret.Data[corev1.TLSCertKey]) {
		t.Fatal("Secret " + authority + " holds no certificate")
	}
	return pool
}

// signed reports whether an authority signed the certificate that cert-manager issued last.
func signed(t *testing.T, by *x509.CertPool) bool {
	t.Helper()
	secret := &corev1.Secret{}
	must(t, world.hub.Get(t.Context(), ref(namespace, servingCertificate+"-tls"), secret))
	block, _ := pem.Decode(secret.Data[corev1.TLSCertKey])
	if block == nil {
		t.Fatal("Secret " + secret.Name + " holds no certificate")
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	must(t, err)
	_, err = certificate.Verify(x509.VerifyOptions{Roots: by})
	return err == nil
}

// serves reports whether the webhooks of a Pod serve a certificate of an authority, for the address that members use.
func serves(ctx context.Context, address string, trusted *x509.CertPool) (bool, error) {
	dialer := &tls.Dialer{Config: &tls.Config{RootCAs: trusted, ServerName: world.hub.NodeAddress(), MinVersion: tls.VersionTLS12}}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(address, "9443"))
	if refused := new(tls.CertificateVerificationError); errors.As(err, &refused) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, conn.Close()
}

// rotation describes how far a renewal got: the certificates in the Secrets, and whether a pool accepts them; the bundles of the members;
// and what the operator logged of it.
func rotation(ctx context.Context, trusted *x509.CertPool) string {
	var out strings.Builder
	for _, of := range []struct{ secret, key string }{
		{authority, corev1.TLSCertKey}, {servingCertificate + "-tls", corev1.TLSCertKey},
		{trust.SecretName, trust.KeyServedCert}, {trust.SecretName, trust.KeyAuthorities},
	} {
		secret := &corev1.Secret{}
		if err := world.hub.Get(ctx, ref(namespace, of.secret), secret); err != nil {
			fmt.Fprintln(&out, err)
			continue
		}
		for block, rest := pem.Decode(secret.Data[of.key]); block != nil; block, rest = pem.Decode(rest) {
			certificate, err := x509.ParseCertificate(block.Bytes)
			if err == nil {
				_, err = certificate.Verify(x509.VerifyOptions{Roots: trusted, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
			}
			fmt.Fprintf(&out, "%s of Secret %s: %x, error: %v\n", of.key, of.secret, sha256.Sum256(block.Bytes), err)
		}
	}
	members := &v1alpha1.MemberClusterList{}
	if err := world.hub.List(ctx, members); err != nil {
		fmt.Fprintln(&out, err)
	}
	for i := range members.Items {
		fmt.Fprintf(&out, "bundle of MemberCluster %s: %s\n", members.Items[i].Name, members.Items[i].Status.CABundleHash)
	}
	files, err := world.logs.files()
	if err != nil {
		fmt.Fprintln(&out, err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			fmt.Fprintln(&out, err)
		}
		for line := range strings.Lines(string(content)) {
			if strings.Contains(line, `"logger":"certificates"`) {
				fmt.Fprintf(&out, "%s: %s", filepath.Base(file), line)
			}
		}
	}
	return out.String()
}
