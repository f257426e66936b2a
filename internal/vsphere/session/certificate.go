package session

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Dialer opens connections. A *net.Dialer is one.
type Dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// Shown is the certificate that a server presents.
type Shown struct {
	// Chain is what the server sent, with its own certificate first.
	Chain []*x509.Certificate
	// TLSVersion is the name of the negotiated version. SHA256 is the thumbprint of the server's certificate.
	TLSVersion, SHA256 string
	// Refused is the reason why a session would not trust the certificate, or nil.
	Refused error
}

// LookAtCertificate makes a TLS handshake and sends nothing after it. An error means that the handshake failed. An
// untrusted certificate is no error. A server at an http URL has none.
func LookAtCertificate(ctx context.Context, cfg Config, dialer Dialer) (*Shown, error) {
	u, err := cfg.endpoint()
	if err != nil {
		return nil, &vsphere.Error{Kind: vsphere.KindSpec, Op: opConnect, Err: err}
	}
	trust, err := cfg.TLS.config()
	if err != nil {
		return nil, &vsphere.Error{Kind: vsphere.KindSpec, Op: opConnect, Err: err}
	}
	if u.Scheme != "https" {
		return nil, nil
	}
	port := u.Port()
	if port == "" {
		port = "443"
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	plain, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return nil, connectError(opConnect, err)
	}
	// An untrusted certificate is examined, too.
	conn := tls.Client(plain, &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true, ServerName: u.Hostname()}) //nolint:gosec // nothing is sent
	defer func() { _ = plain.Close() }()
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil, connectError(opConnect, err)
	}
	state := conn.ConnectionState()
	if len(state.PeerCertificates) == 0 {
		return nil, connectError(opConnect, errNoCertificate)
	}
	sum := sha256.Sum256(state.PeerCertificates[0].Raw)
	return &Shown{
		Chain: state.PeerCertificates, TLSVersion: tls.VersionName(state.Version), SHA256: colons(sum[:]),
		Refused: refusedBy(trust, state, u.Hostname()),
	}, nil
}

// refusedBy returns the reason why a session with these settings would not trust a handshake.
func refusedBy(trust *tls.Config, state tls.ConnectionState, host string) error {
	switch {
	case trust.VerifyConnection != nil:
		return trust.VerifyConnection(state)
	case trust.InsecureSkipVerify:
		return nil
	}
	between := x509.NewCertPool()
	for _, c := range state.PeerCertificates[1:] {
		between.AddCert(c)
	}
	leaf := state.PeerCertificates[0]
	_, err := leaf.Verify(x509.VerifyOptions{Roots: trust.RootCAs, Intermediates: between, DNSName: host, CurrentTime: time.Now()})
	if err != nil {
		return fmt.Errorf("verify the certificate: %w", err)
	}
	return nil
}
