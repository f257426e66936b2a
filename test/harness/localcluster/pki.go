//go:build unix

package localcluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// validity of every certificate. A demo can run for a weekend.
const validity = 30 * 24 * time.Hour

// authority is the certificate authority of one control plane. It signs the API server's certificate and those
// of its clients.
type authority struct {
	certificate *x509.Certificate
	pem         []byte
	key         *ecdsa.PrivateKey
}

// pair is a certificate with its key, both in PEM.
type pair struct{ certificate, key []byte }

func newAuthority(name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a certificate authority: %w", err)
	}
	template := certificateTemplate(pkix.Name{CommonName: "ca of " + name})
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate authority: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("make a certificate authority: %w", err)
	}
	return &authority{certificate: certificate, pem: pemBlock("CERTIFICATE", der), key: key}, nil
}

// server signs a certificate for the addresses and names of a server.
func (a *authority) server(addresses []net.IP, names []string) (pair, error) {
	template := certificateTemplate(pkix.Name{CommonName: "kube-apiserver"})
	template.IPAddresses, template.DNSNames = addresses, names
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	return a.sign(template)
}

// client signs a client certificate for a user in groups.
func (a *authority) client(user string, groups []string) (pair, error) {
	template := certificateTemplate(pkix.Name{CommonName: user, Organization: groups})
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.sign(template)
}

func (a *authority) sign(template *x509.Certificate) (pair, error) {
	keyPEM, key, err := newKey()
	if err != nil {
		return pair{}, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return pair{}, fmt.Errorf("sign a certificate for %s: %w", template.Subject, err)
	}
	return pair{certificate: pemBlock("CERTIFICATE", der), key: keyPEM}, nil
}

func certificateTemplate(subject pkix.Name) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		// The number is random, because two certificates of one authority must not share a number.
		SerialNumber: new(big.Int).SetBytes([]byte(rand.Text())),
		Subject:      subject,
		// Begin earlier: a user can set the clock back while a demo runs.
		NotBefore: now.Add(-time.Hour),
		NotAfter:  now.Add(validity),
		KeyUsage:  x509.KeyUsageDigitalSignature,
	}
}

// newKey makes a private key and its PEM form.
func newKey() ([]byte, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("make a key: %w", err)
	}
	// Do not use PKCS #8, because kube-apiserver does not read it as the key of service accounts.
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, nil, fmt.Errorf("encode a key: %w", err)
	}
	return pemBlock("EC PRIVATE KEY", der), key, nil
}

func pemBlock(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
