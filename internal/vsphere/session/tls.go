package session

import (
	"crypto/sha1" //nolint:gosec // vSphere's own tools print SHA-1 thumbprints; the pin is chosen by a person
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// ErrThumbprint means that the server presented a certificate other than the pinned one.
var ErrThumbprint = errors.New("the server's certificate does not have the configured thumbprint")

var (
	errNoCertificate  = errors.New("the server presented no certificate")
	errCABundle       = errors.New("the CA bundle holds no PEM certificate")
	errThumbprintForm = errors.New("the thumbprint is not a SHA-1 (20 bytes) or SHA-256 (32 bytes) in hexadecimal")
	errTLSChoice      = errors.New("only one of CA bundle, thumbprint and insecure may be set")
)

// config returns the settings in Go's form.
func (t TLS) config() (*tls.Config, error) {
	chosen := 0
	for _, set := range []bool{len(t.CABundle) > 0, t.Thumbprint != "", t.Insecure} {
		if set {
			chosen++
		}
	}
	if chosen > 1 {
		return nil, errTLSChoice
	}
	out := &tls.Config{MinVersion: tls.VersionTLS12}
	switch {
	case t.Insecure:
		out.InsecureSkipVerify = true // requested explicitly
	case t.Thumbprint != "":
		pin, err := parseThumbprint(t.Thumbprint)
		if err != nil {
			return nil, err
		}
		// VerifyConnection below accepts only one certificate.
		out.InsecureSkipVerify = true
		out.VerifyConnection = func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) == 0 {
				return errNoCertificate
			}
			return pin.check(state.PeerCertificates[0])
		}
	case len(t.CABundle) > 0:
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(t.CABundle) {
			return nil, errCABundle
		}
		out.RootCAs = pool
	}
	return out, nil
}

type thumbprint []byte

func parseThumbprint(s string) (thumbprint, error) {
	raw, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(s), ":", ""))
	if err != nil || (len(raw) != sha1.Size && len(raw) != sha256.Size) {
		return nil, errThumbprintForm
	}
	return raw, nil
}

func (p thumbprint) check(cert *x509.Certificate) error {
	var got []byte
	if len(p) == sha1.Size {
		sum := sha1.Sum(cert.Raw) //nolint:gosec // see import
		got = sum[:]
	} else {
		sum := sha256.Sum256(cert.Raw)
		got = sum[:]
	}
	if subtle.ConstantTimeCompare(p, got) != 1 {
		return fmt.Errorf("%w: it is %s", ErrThumbprint, colons(got))
	}
	return nil
}

// colons formats a thumbprint like vSphere's tools.
func colons(sum []byte) string {
	parts := make([]string, len(sum))
	for i, b := range sum {
		parts[i] = fmt.Sprintf("%02X", b)
	}
	return strings.Join(parts, ":")
}
