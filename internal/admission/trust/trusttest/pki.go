// Package trusttest creates certificates for tests.
package trusttest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"
)

// Name is the DNS name of every serving certificate, in addition to 127.0.0.1.
const Name = "vmgroup-operator-webhook.vmgroup-operator-system.svc"

// Authority is a certificate authority with its key.
type Authority struct {
	// PEM is its certificate.
	PEM []byte

	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// NewAuthority creates an authority. All have the same subject, like those of cert-manager.
func NewAuthority(t testing.TB, notBefore, notAfter time.Time) *Authority {
	t.Helper()
	return newAuthority(t, newKey(t), notBefore, notAfter)
}

// Again returns another certificate for the same authority and key.
func (a *Authority) Again(t testing.TB, notBefore, notAfter time.Time) *Authority {
	t.Helper()
	return newAuthority(t, a.key, notBefore, notAfter)
}

func newAuthority(t testing.TB, key *ecdsa.PrivateKey, notBefore, notAfter time.Time) *Authority {
	t.Helper()
	template := template(t, "vmgroup-operator-ca", notBefore, notAfter)
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	raw, certificate := sign(t, template, template, key, key)
	return &Authority{PEM: encode("CERTIFICATE", raw), certificate: certificate, key: key}
}

// Issue creates a serving certificate and returns it with its key as PEM.
func (a *Authority) Issue(t testing.TB, notBefore, notAfter time.Time) (certificate, key []byte) {
	t.Helper()
	own := newKey(t)
	template := template(t, "", notBefore, notAfter)
	template.DNSNames, template.IPAddresses = []string{Name}, []net.IP{net.IPv4(127, 0, 0, 1)}
	template.KeyUsage, template.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	raw, _ := sign(t, template, a.certificate, own, a.key)
	encoded, err := x509.MarshalECPrivateKey(own)
	if err != nil {
		t.Fatal(err)
	}
	return encode("CERTIFICATE", raw), encode("EC PRIVATE KEY", encoded)
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func template(t testing.TB, name string, notBefore, notAfter time.Time) *x509.Certificate {
	t.Helper()
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	return &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: name}, NotBefore: notBefore, NotAfter: notAfter}
}

func sign(t testing.TB, template, parent *x509.Certificate, own, signer *ecdsa.PrivateKey) ([]byte, *x509.Certificate) {
	t.Helper()
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, &own.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	return raw, certificate
}

func encode(kind string, raw []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw})
}
