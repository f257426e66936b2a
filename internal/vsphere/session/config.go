package session

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere/logins"
)

// Config configures the login.
type Config struct {
	// URL of the vCenter: https://host[:port], optionally with the path /sdk. It must not contain credentials, because errors and logs
	// contain URLs.
	URL string
	// Username and Password of the account.
	Username, Password string
	// TLS configures the check of the server's certificate.
	TLS TLS
	// UserAgent names this program in vCenter's session list.
	UserAgent string
	// Identity distinguishes this process from others of the same program in that list. It is optional.
	Identity Identity
	// Transport sends the requests to a test server in the same process. Nil means connections to URL.
	Transport http.RoundTripper
	// CallTimeout limits a call whose context has no deadline. Zero means 60 seconds.
	CallTimeout time.Duration
	// PageBytes limits a page of a listing, for tests. Zero means 32 MiB.
	PageBytes int64
	// Gate decides when the account can log in. If it is nil, the session counts only its own logins.
	Gate *logins.Gate
	// Meter counts requests. It can be nil.
	Meter Meter
	// KnockEvery is the pause between knocks, and the time limit for an answer. Zero means 8 seconds. An unresponsive server is
	// considered healthy for twice that time.
	KnockEvery time.Duration
}

// TLS configures the check of the server's certificate. If no field is set, the system's authorities are trusted.
type TLS struct {
	// CABundle contains PEM certificates of the authorities to trust instead of the system's.
	CABundle []byte
	// Thumbprint is the SHA-1 or SHA-256 of the server's certificate, hexadecimal, with or without colons. Only a certificate with
	// this thumbprint is accepted. Its issuer, name and dates are not checked.
	Thumbprint string
	// Insecure disables all checks. Any party on the network path can then read the password.
	Insecure bool
}

var (
	errNoURL       = errors.New("the URL of the vCenter is empty")
	errBadURL      = errors.New("the URL of the vCenter is not valid: it must be https://host[:port]")
	errURLUserinfo = errors.New("the URL of the vCenter holds credentials: they belong into the Secret")
	errScheme      = errors.New("the URL of the vCenter must begin with https:// (or http:// for a simulator)")
)

// endpoint parses the URL. Its errors never quote the URL, which can contain a password by mistake.
func (c Config) endpoint() (*url.URL, error) {
	raw := strings.TrimSpace(c.URL)
	if raw == "" {
		return nil, errNoURL
	}
	if !strings.Contains(raw, "://") {
		raw = "https://" + raw
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return nil, errBadURL
	}
	if u.User != nil {
		return nil, errURLUserinfo
	}
	if u.Scheme != "https" && u.Scheme != "http" {
		return nil, errScheme
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/sdk"
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	u.RawQuery, u.Fragment = "", ""
	return u, nil
}

// gate returns Gate, or one that knows of no other session.
func (c Config) gate() *logins.Gate {
	if c.Gate != nil {
		return c.Gate
	}
	return logins.New(logins.Options{Store: new(logins.Memory), Now: time.Now}).Gate(c.URL, c.Username, c.Password, "")
}

// knockEvery is short enough to detect an unresponsive server within twenty seconds, and long enough for a slow one. vCenter
// answers a knock without reading the inventory.
func (c Config) knockEvery() time.Duration { return orDefault(c.KnockEvery, 8*time.Second) }

func orDefault(d, fallback time.Duration) time.Duration {
	if d <= 0 {
		return fallback
	}
	return d
}
