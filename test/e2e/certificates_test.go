//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"testing"

	corev1 "k8s.io/api/core/v1"

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
	for _, name := range []string{authority, servingCertificate} {
		revision, err := certmanager.Revision(t.Context(), world.hub, namespace, name)
		must(t, err)
		must(t, certmanager.Renew(t.Context(), world.hub, namespace, name))
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		must(t, certmanager.WaitRevision(ctx, world.hub, namespace, name, revision+1))
		cancel()
	}
	renewed := authorities(t)
	if renewed.Equal(former) {
		t.Fatal("the authority is the same as before")
	}
	for _, pod := range pods(t) {
		await.Until(t, "Pod "+pod.Name+" to serve what the new authority signed", func(ctx context.Context) (bool, error) {
			return serves(ctx, pod.Status.PodIP, renewed)
		})
	}
	people.more(leastCreates)
	people.enough()
	people.stop()
	oneAtATime(t)
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
