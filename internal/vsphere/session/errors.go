package session

import (
	"crypto/tls"
	"crypto/x509"
	"errors"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// IsCertificate reports whether err concerns the server's certificate.
func IsCertificate(err error) bool {
	var (
		unknown  x509.UnknownAuthorityError
		hostname x509.HostnameError
		invalid  x509.CertificateInvalidError
		roots    x509.SystemRootsError
		verify   *tls.CertificateVerificationError
	)
	return errors.As(err, &unknown) || errors.As(err, &hostname) || errors.As(err, &invalid) ||
		errors.As(err, &roots) || errors.As(err, &verify) || errors.Is(err, ErrThumbprint) ||
		errors.Is(err, errNoCertificate)
}

// connectError translates an error of a call that changes nothing.
func connectError(op string, err error) error {
	kind := vsphere.KindOf(err)
	if IsCertificate(err) {
		kind = vsphere.KindCertificate
	}
	return &vsphere.Error{Kind: kind, Op: op, Err: err}
}
