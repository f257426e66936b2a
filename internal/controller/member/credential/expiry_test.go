package credential

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func token(payload string) string {
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + ".c2ln"
}

func certificate(t *testing.T, until time.Time) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: noon.Add(-time.Hour), NotAfter: until}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func TestExpiryOfACredential(t *testing.T) {
	never := time.Time{}
	tls := func(data []byte) rest.TLSClientConfig { return rest.TLSClientConfig{CertData: data} }
	valid := certificate(t, noon.Add(time.Hour))
	for story, test := range map[string]struct {
		config rest.Config
		want   time.Time
	}{
		"a token":                              {rest.Config{BearerToken: token(`{"exp":1772366400}`)}, noon},
		"a token with a fraction":              {rest.Config{BearerToken: token(`{"exp":1772366400.7}`)}, noon},
		"a token without an expiry":            {rest.Config{BearerToken: token(`{"sub":"a"}`)}, never},
		"a token with a negative expiry":       {rest.Config{BearerToken: token(`{"exp":-5}`)}, never},
		"a token that expires after year 9999": {rest.Config{BearerToken: token(`{"exp":1e300}`)}, never},
		"a token whose expiry is no number":    {rest.Config{BearerToken: token(`{"exp":"soon"}`)}, never},
		"an opaque token":                      {rest.Config{BearerToken: "abcdef.0123456789abcdef"}, never},
		"a token that is no base64":            {rest.Config{BearerToken: "a.?.c"}, never},
		"a certificate":                        {rest.Config{TLSClientConfig: tls(valid)}, noon.Add(time.Hour)},
		"no certificate":                       {rest.Config{TLSClientConfig: tls([]byte("-----BEGIN"))}, never},
		"the token expires before the certificate": {
			rest.Config{BearerToken: token(`{"exp":1772366400}`), TLSClientConfig: tls(valid)}, noon.Add(time.Hour),
		},
		"an opaque token with a certificate": {rest.Config{BearerToken: "abc", TLSClientConfig: tls(valid)}, never},
		"a password":                         {rest.Config{Username: "a", Password: "b", TLSClientConfig: tls(valid)}, never},
		"nothing":                            {rest.Config{}, never},
	} {
		t.Run(story, func(t *testing.T) {
			if got := Expiry(&test.config); !got.Equal(test.want) {
				t.Errorf("expires %s, want %s", got, test.want)
			}
		})
	}
}

func TestTokensOfOneIdentityHaveOneFingerprint(t *testing.T) {
	of := func(change func(*rest.Config)) string {
		c := rest.Config{Host: "https://a", BearerToken: token(`{"iss":"i","sub":"s","exp":1}`), TLSClientConfig: rest.TLSClientConfig{CAData: []byte("ca")}}
		change(&c)
		return Fingerprint(&c)
	}
	before := of(func(*rest.Config) {})
	if of(func(c *rest.Config) { c.BearerToken = token(`{"iss":"i","sub":"s","exp":2}`) }) != before {
		t.Error("a renewed token has another fingerprint")
	}
	seen := map[string]string{before: "the first"}
	for what, change := range map[string]func(*rest.Config){
		"another subject":       func(c *rest.Config) { c.BearerToken = token(`{"iss":"i","sub":"t"}`) },
		"another issuer":        func(c *rest.Config) { c.BearerToken = token(`{"iss":"j","sub":"s"}`) },
		"an opaque token":       func(c *rest.Config) { c.BearerToken = "opaque" },
		"another opaque token":  func(c *rest.Config) { c.BearerToken = "opaque2" },
		"no token":              func(c *rest.Config) { c.BearerToken = "" },
		"another server":        func(c *rest.Config) { c.Host = "https://b" },
		"another authority":     func(c *rest.Config) { c.CAData = []byte("cb") },
		"a client certificate":  func(c *rest.Config) { c.CertData = []byte("c") },
		"another key":           func(c *rest.Config) { c.KeyData = []byte("k") },
		"a password":            func(c *rest.Config) { c.Password = "p" },
		"a user":                func(c *rest.Config) { c.Username = "p" },
		"a server name":         func(c *rest.Config) { c.ServerName = "p" },
		"no compression at all": func(c *rest.Config) { c.DisableCompression = true },
	} {
		got := of(change)
		if other, twice := seen[got]; twice {
			t.Errorf("%s has the fingerprint of %s", what, other)
		}
		seen[got] = what
	}
}
