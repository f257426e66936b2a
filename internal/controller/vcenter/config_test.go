package vcenter

import (
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

func secret(pairs ...string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "vc-creds"}, Data: map[string][]byte{}}
	for pair := range slices.Chunk(pairs, 2) {
		s.Data[pair[0]] = []byte(pair[1])
	}
	return s
}

func TestConfig(t *testing.T) {
	good := secret("username", "u", "password", "canary")
	for _, c := range []struct {
		story  string
		server string
		tls    *v1alpha1.TLSConfig
		secret *corev1.Secret
		url    string
		reason string
	}{
		{story: "a URL is completed", server: "https://vc.example.com", secret: good, url: "https://vc.example.com/sdk"},
		{story: "a host alone means https", server: "vc.example.com:8443", secret: good, url: "https://vc.example.com:8443/sdk"},
		{story: "a path is kept", server: "https://vc/sdk", secret: good, url: "https://vc/sdk"},
		{story: "the original's Secret is enough", secret: secret("VC_USER", "u", "VC_PASS", "canary", "VC_HOST", "vc.example.com"), url: "https://vc.example.com/sdk"},
		{story: "no server at all", secret: good, reason: v1alpha1.ReasonInvalidConfiguration},
		{story: "http would show the password", server: "http://vc", secret: good, reason: v1alpha1.ReasonInvalidConfiguration},
		{story: "http to a simulator", server: "http://127.0.0.1:1", tls: &v1alpha1.TLSConfig{InsecureSkipVerify: true}, secret: good, url: "http://127.0.0.1:1/sdk"},
		{story: "another scheme", server: "ftp://vc", secret: good, reason: v1alpha1.ReasonInvalidConfiguration},
		{story: "user information in the URL", server: "https://u:canary@vc", secret: good, reason: v1alpha1.ReasonInvalidConfiguration},
		{story: "nonsense", server: "https://:canary%zz@", secret: good, reason: v1alpha1.ReasonInvalidConfiguration},
		{story: "no password", server: "https://vc", secret: secret("username", "u"), reason: v1alpha1.ReasonSecretInvalid},
		{story: "an empty password", server: "https://vc", secret: secret("username", "u", "password", "\n"), reason: v1alpha1.ReasonSecretInvalid},
	} {
		t.Run(c.story, func(t *testing.T) {
			vc := vcenterForTest()
			vc.Spec.Server, vc.Spec.TLS = c.server, c.tls
			config, err := newConfig(vc, c.secret)
			if c.reason == "" {
				if err != nil || config.URL != c.url || config.Username != "u" || config.Password != "canary" {
					t.Fatalf("got %q, %q, %v", config.URL, config.Username, err)
				}
				return
			}
			var invalid *configError
			if !errors.As(err, &invalid) || invalid.reason != c.reason {
				t.Fatalf("error %v, want reason %s", err, c.reason)
			}
			if strings.Contains(err.Error(), "canary") {
				t.Errorf("the error shows the password: %v", err)
			}
		})
	}
}

func TestOnlyWhatNeedsANewConnectionChangesTheHash(t *testing.T) {
	vc := vcenterForTest()
	before, _ := newConfig(vc, secret("username", "u", "password", "a"))
	vc.Spec.Limits.Tasks, vc.Status.VMs = 99, 500
	limits, _ := newConfig(vc, secret("username", "u", "password", "a\n"))
	if before.hash() != limits.hash() {
		t.Error("another limit, count or trailing newline would end the session")
	}
	rotated, _ := newConfig(vc, secret("username", "u", "password", "b"))
	if before.hash() == rotated.hash() {
		t.Error("another password would not open a new session")
	}
}
