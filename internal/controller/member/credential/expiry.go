package credential

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

// latest is the last time that the API can hold.
var latest = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)

// Expiry returns when the credential of a client configuration expires: the exp of its token (RFC 7519, section 4.1.4) or the end
// of its client certificate. An API server tries both, so the later one counts. It returns zero if the credential has no expiry, or
// none that a client can read, as with an opaque token or a password. Nothing is verified: the result is for people.
func Expiry(config *rest.Config) time.Time {
	if config.Username != "" {
		return time.Time{}
	}
	var last time.Time
	for _, c := range []struct {
		set    bool
		expiry time.Time
	}{
		{config.BearerToken != "", ofToken(config.BearerToken)},
		{len(config.CertData) > 0, ofCertificate(config.CertData)},
	} {
		if !c.set {
			continue
		}
		if c.expiry.IsZero() {
			return time.Time{}
		}
		if c.expiry.After(last) {
			last = c.expiry
		}
	}
	return last
}

// claims are those of a JSON Web Token that clients can use.
type claims struct {
	Issuer  string `json:"iss"`
	Subject string `json:"sub"`
	// Expiry and Issued can have a fraction.
	Expiry float64 `json:"exp"`
	Issued float64 `json:"iat"`
}

// claimsOf returns the claims of a JSON Web Token, or false. The signature is not verified.
func claimsOf(token string) (c claims, ok bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return c, false
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	return c, err == nil && json.Unmarshal(payload, &c) == nil
}

// ofToken returns the expiry of a JSON Web Token, or zero.
func ofToken(token string) time.Time {
	c, _ := claimsOf(token)
	return timeOf(c.Expiry)
}

// timeOf returns the time of a claim, or zero if the API cannot hold it.
func timeOf(seconds float64) time.Time {
	if !(seconds > 0 && seconds <= float64(latest.Unix())) {
		return time.Time{}
	}
	return time.Unix(int64(seconds), 0).UTC()
}

// ofCertificate returns the end of the first certificate, which is the client's, or zero.
func ofCertificate(data []byte) time.Time {
	block, _ := pem.Decode(data)
	if block == nil {
		return time.Time{}
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil || certificate.NotAfter.After(latest) {
		return time.Time{}
	}
	return certificate.NotAfter.UTC()
}
