package trust

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Authority is a certificate that members can be configured to trust.
type Authority struct {
	// Hash is the lower-case hexadecimal SHA-256 of the certificate.
	Hash string
	// NotBefore and NotAfter limit its validity.
	NotBefore, NotAfter time.Time
	// Certificate is nil only in tests of the decision.
	Certificate *x509.Certificate
}

func (a Authority) valid(now time.Time) bool {
	return !now.Before(a.NotBefore) && now.Before(a.NotAfter)
}

// ParseAuthorities reads the certificates of a PEM file. It omits other blocks and blocks that cannot be parsed. It
// returns each certificate once, in the order of the file.
func ParseAuthorities(content []byte) []Authority {
	var all []Authority
	for block, rest := pem.Decode(content); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			continue
		}
		if a := newAuthority(certificate); !holds(all, a.Hash) {
			all = append(all, a)
		}
	}
	return all
}

func newAuthority(c *x509.Certificate) Authority {
	return Authority{Hash: hashOf(c.Raw), NotBefore: c.NotBefore, NotAfter: c.NotAfter, Certificate: c}
}

// EncodeAuthorities returns the certificates as PEM, in the order given.
func EncodeAuthorities(all []Authority) []byte {
	var out bytes.Buffer
	for _, a := range all {
		if a.Certificate != nil {
			_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: a.Certificate.Raw}) // a Buffer cannot fail
		}
	}
	return out.Bytes()
}

// BundleHash identifies a set of authorities like MemberCluster.status.caBundleHash, whatever their order; "" is none.
func BundleHash(all []Authority) string {
	sums := make([][]byte, 0, len(all))
	for _, a := range all {
		sum, err := hex.DecodeString(a.Hash)
		if err != nil {
			sum = []byte(a.Hash) // tests of the decision use names
		}
		sums = append(sums, sum)
	}
	if len(sums) == 0 {
		return ""
	}
	slices.SortFunc(sums, bytes.Compare)
	return hashOf(bytes.Join(slices.CompactFunc(sums, bytes.Equal), nil))
}

// Pair is a certificate chain and its key as PEM, as in a Secret of the type kubernetes.io/tls.
type Pair struct{ Certificate, Key []byte }

// Leaf is a serving certificate with its key.
type Leaf struct {
	// Fingerprint is the lower-case hexadecimal SHA-256 of the certificate.
	Fingerprint string
	// NotBefore and NotAfter limit the validity of the chain: the latest start and the earliest end of its parts.
	NotBefore, NotAfter time.Time
	// Signers are the hashes of the authorities of which a client needs one; see [Leaf.FindSigners].
	Signers []string
	// Pair is the source of the leaf.
	Pair Pair
	// TLS is the certificate for a server; its contents must not be changed.
	TLS *tls.Certificate
}

// ErrNoPair is returned for a [Pair] that is empty.
var ErrNoPair = errors.New("there is no certificate or no key")

// ParseLeaf reads a certificate chain with its key, which must belong together.
func ParseLeaf(pair Pair) (*Leaf, error) {
	if len(pair.Certificate) == 0 || len(pair.Key) == 0 {
		return nil, ErrNoPair
	}
	read, err := tls.X509KeyPair(pair.Certificate, pair.Key)
	if err != nil {
		return nil, fmt.Errorf("read the serving certificate and its key: %w", err)
	}
	leaf := &Leaf{Fingerprint: hashOf(read.Certificate[0]), Pair: pair, TLS: &read}
	for i, raw := range read.Certificate {
		part, err := x509.ParseCertificate(raw)
		if err != nil {
			return nil, fmt.Errorf("read the serving certificate's chain: %w", err)
		}
		if i == 0 || part.NotBefore.After(leaf.NotBefore) {
			leaf.NotBefore = part.NotBefore
		}
		if i == 0 || part.NotAfter.Before(leaf.NotAfter) {
			leaf.NotAfter = part.NotAfter
		}
	}
	return leaf, nil
}

// FindSigners records the authorities that a client can trust to accept the leaf. It ignores validity times: they are
// compared at decision time.
func (l *Leaf) FindSigners(known []Authority) {
	l.Signers = nil
	if l.TLS == nil {
		return
	}
	certificate := l.TLS.Leaf
	between := x509.NewCertPool()
	for _, raw := range l.TLS.Certificate[1:] {
		if part, err := x509.ParseCertificate(raw); err == nil {
			between.AddCert(part)
		}
	}
	for _, a := range known {
		if a.Certificate == nil {
			continue
		}
		roots := x509.NewCertPool()
		roots.AddCert(a.Certificate)
		at := l.NotBefore
		if a.NotBefore.After(at) {
			at = a.NotBefore
		}
		_, err := certificate.Verify(x509.VerifyOptions{
			Roots: roots, Intermediates: between, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		})
		if err == nil {
			l.Signers = append(l.Signers, a.Hash)
		}
	}
}

// signedBy reports whether one of the authorities that are valid at that time signed the leaf.
func (l *Leaf) signedBy(authorities []Authority, now time.Time) bool {
	return slices.ContainsFunc(authorities, func(a Authority) bool { return a.valid(now) && slices.Contains(l.Signers, a.Hash) })
}

// usable reports whether a client that trusts the authorities accepts the leaf now.
func (l *Leaf) usable(authorities []Authority, now time.Time) bool {
	return !now.Before(l.NotBefore) && now.Before(l.NotAfter) && l.signedBy(authorities, now)
}

// end is the time after which no client accepts the leaf: its own end, or that of the last authority that signed it.
func (l *Leaf) end(authorities []Authority) time.Time {
	var last time.Time
	for _, a := range authorities {
		if slices.Contains(l.Signers, a.Hash) && a.NotAfter.After(last) {
			last = a.NotAfter
		}
	}
	if last.IsZero() || l.NotAfter.Before(last) {
		return l.NotAfter
	}
	return last
}

func holds(all []Authority, hash string) bool {
	return slices.ContainsFunc(all, func(a Authority) bool { return a.Hash == hash })
}

func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
