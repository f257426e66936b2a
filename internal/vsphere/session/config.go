package session

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere/logins"
)

// Config says where and how to log in.
type Config struct {
	// URL of the vCenter: https://host[:port], optionally with the path /sdk. It must not hold credentials,
	// because URLs end up in errors and logs.
	URL string
	// Username and Password of the account.
	Username, Password string
	// TLS says how the server's certificate is checked.
	TLS TLS
	// UserAgent names this program in vCenter's session list.
	UserAgent string
	// Identity tells this process from others of the same program there. It is optional.
	Identity Identity
	// Transport sends the requests where a server in the same process is tested; nil for connections to URL.
	Transport http.RoundTripper
	// CallTimeout bounds a call whose context has no deadline; zero means 60 seconds.
	CallTimeout time.Duration
	// PageBytes bounds a page of a listing, for tests; zero means 32 MiB.
	PageBytes int64
	// Gate decides when the account may log in. Without one the session counts its own logins only.
	Gate *logins.Gate
	// Meter counts requests; it may be nil.
	Meter Meter
	// KnockEvery is the pause between questions whether the server still answers, and how long an answer may take; zero means
	// 8 seconds. Twice that is how long a server that has fallen silent is taken for well.
	KnockEvery time.Duration
}

// TLS says how the server's certificate is checked. With no field set, the system's authorities are trusted.
type TLS struct {
	// CABundle are PEM certificates of the authorities to trust instead of the system's.
	CABundle []byte
	// Thumbprint is the SHA-1 or SHA-256 of the server's certificate, hexadecimal, with or without colons.
	// Only a certificate with this thumbprint is accepted; its issuer, name and dates are not looked at.
	Thumbprint string
	// Insecure turns all checks off. Anybody on the network path can then read the password.
	Insecure bool
}

var (
	errNoURL       = errors.New("the URL of the vCenter is empty")
	errBadURL      = errors.New("the URL of the vCenter is not valid: it must be https://host[:port]")
	errURLUserinfo = errors.New("the URL of the vCenter holds credentials: they belong into the Secret")
	errScheme      = errors.New("the URL of the vCenter must begin with https:// (or http:// for a simulator)")
)

// endpoint parses the URL. Its errors never quote the URL, which may hold a password by mistake.
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

// gate is Gate, or one that knows of no other session.
func (c Config) gate() *logins.Gate {
	if c.Gate != nil {
		return c.Gate
	}
	return logins.New(logins.Options{Store: new(logins.Memory), Now: time.Now}).Gate(c.URL, c.Username, c.Password, "")
}

// knockEvery is short enough for a silent server to be noticed within twenty seconds, and long enough for one that is slow. vCenter
// answers a knock without looking into the inventory.
func (c Config) knockEvery() time.Duration { return orDefault(c.KnockEvery, 8*time.Second) }

func orDefault(d, fallback time.Duration) time.Duration {
	if d <= 0 {
		return fallback
	}
	return d
}
