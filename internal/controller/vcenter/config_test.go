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
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "vmgroup-operator-system", Name: "vc-creds"}, Data: map[string][]byte{}}
	for pair := range slices.Chunk(pairs, 2) {
		s.Data[pair[0]] = []byte(pair[1])
	}
	return s
}

func TestConfig(t *testing.T) {
	good := secret("username", "u", "password", "canary", "VC_HOST", "vc.example.com:*,vc,http://127.0.0.1:1,http://10.0.0.1")
	hostless := secret("username", "u", "password", "canary")
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
		{story: "no server at all", secret: hostless, reason: v1alpha1.ReasonInvalidConfiguration},
		{story: "http would show the password", server: "http://vc", secret: good, reason: v1alpha1.ReasonInvalidConfiguration},
		{story: "http to a simulator", server: "http://127.0.0.1:1", tls: &v1alpha1.TLSConfig{InsecureSkipVerify: true}, secret: good, url: "http://127.0.0.1:1/sdk"},
		{story: "http to another host", server: "http://10.0.0.1", tls: &v1alpha1.TLSConfig{InsecureSkipVerify: true}, secret: good, reason: v1alpha1.ReasonInvalidConfiguration},
		{story: "a Secret that names no host", server: "https://vc.example.com", secret: hostless, reason: v1alpha1.ReasonSecretWithoutHost},
		{story: "a Secret for this host", server: "https://VC.example.com.", secret: secret("username", "u", "password", "canary", "VC_HOST", "https://vc.example.com/sdk"), url: "https://VC.example.com./sdk"},
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

func TestAPasswordGoesOnlyWhereItsSecretSays(t *testing.T) {
	const unsaid, another = "\x00", v1alpha1.ReasonSecretForAnotherHost
	for _, c := range []struct {
		server, key, annotation string
		refused                 string // the reason, or empty if the password is sent
	}{
		{"https://vc.example.com", "vc.example.com", unsaid, ""},
		{"https://vc.example.com:443/sdk", "VC.Example.com\n", unsaid, ""},
		{"https://vc.example.com:8443", "https://vc.example.com:8443", unsaid, ""},
		{"https://10.0.0.1", unsaid, "vc.example.com, 10.0.0.1", ""},
		{"https://[fd00::1]:8443", unsaid, "[fd00::1]:8443", ""},
		{"https://127.0.0.1:8443", unsaid, "127.0.0.1:*", ""},
		{"", "vc.example.com", unsaid, ""},
		{"", "http://localhost", unsaid, ""},
		{"http://localhost", unsaid, "http://localhost", ""},
		{"https://vc2.example.com", "vc.example.com", "vc2.example.com", ""}, // the annotation wins

		{"http://localhost", "localhost", unsaid, another}, // not unencrypted, if the Secret names no port for that
		{"http://localhost:443", "localhost", unsaid, another},
		{"http://localhost", unsaid, "https://localhost", another},
		{"http://localhost:443", unsaid, "https://localhost", another},
		{"https://vc.example.com:8443", "vc.example.com", unsaid, another},
		{"https://listener.example.com", "vc.example.com", unsaid, another},
		{"https://vc.example.com.listener.org", "vc.example.com", unsaid, another},
		{"https://listener.org/vc.example.com", "vc.example.com", unsaid, another},
		{"https://vc.example.com", "vc.example.com", "vc2.example.com", another},
		{"", "vc.example.com", "vc2.example.com", another},
		{"https://vc.example.com", unsaid, "", another},
		{"https://vc.example.com", unsaid, "*", another},
		{"https://vc.example.com", unsaid, "*.example.com", another},
		{"https://vc.example.com", unsaid, "u@vc.example.com", another},
		{"https://vc.example.com", unsaid, ":*", another},
		{"https://vc.example.com:8443", unsaid, "vc.example.com", another},
		{"https://listener.example.com", unsaid, "vc.example.com", another},
		{"https://vc.example.com.listener.org", unsaid, "vc.example.com", another},
		{"https://listener.org/vc.example.com", unsaid, "vc.example.com", another},

		{"https://vc.example.com", unsaid, unsaid, v1alpha1.ReasonSecretWithoutHost},
		{"https://vc.example.com", "https://u:canary@vc.example.com", unsaid, v1alpha1.ReasonSecretWithoutHost},
	} {
		vc, s := vcenterForTest(), secret("username", "u", "password", "canary")
		vc.Spec.Server, vc.Spec.TLS = c.server, &v1alpha1.TLSConfig{InsecureSkipVerify: true}
		if c.key != unsaid {
			s.Data["VC_HOST"] = []byte(c.key)
		}
		if c.annotation != unsaid {
			s.Annotations = map[string]string{v1alpha1.VCenterHostsAnnotation: c.annotation}
		}
		_, err := newConfig(vc, s)
		var refused *configError
		switch {
		case c.refused == "" && err != nil:
			t.Errorf("%+v: %v", c, err)
		case c.refused != "" && (!errors.As(err, &refused) || refused.reason != c.refused || refused.secret != s):
			t.Errorf("%+v: %v", c, err)
		case c.refused != "" && (strings.Contains(err.Error(), "canary") || !strings.Contains(err.Error(), "kubectl -n vmgroup-operator-system annotate secret vc-creds")):
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestTheCommandForASecretWithoutHostIsEnough(t *testing.T) {
	vc := vcenterForTest()
	vc.Spec.Server = "https://vc.example.com:8443"
	s := secret("username", "u", "password", "a")
	_, err := newConfig(vc, s)
	if err == nil || !strings.HasSuffix(err.Error(), "kubectl -n vmgroup-operator-system annotate secret vc-creds vm.codeconnect.vmworld.com/vcenter-hosts=vc.example.com:8443") {
		t.Fatalf("error is %v", err)
	}
	allow(t, s, err.Error())
	if _, err := newConfig(vc, s); err != nil {
		t.Errorf("after the command: %v", err)
	}
}

func TestHTTPGoesToThisHostOnly(t *testing.T) {
	for server, refused := range map[string]bool{
		"http://10.0.0.7": true, "http://sim.example.com:8989": true, "http://localhost.example.com:1": true, "http://[fd00::1]": true,
		"http://127.0.0.1:8989": false, "http://[::1]:8989": false, "http://localhost:8989": false, "https://10.0.0.7": false,
	} {
		vc, s := vcenterForTest(), secret("username", "u", "password", "p", "VC_HOST", server)
		vc.Spec.Server, vc.Spec.TLS = server, &v1alpha1.TLSConfig{InsecureSkipVerify: true}
		var invalid *configError
		if _, err := newConfig(vc, s); refused != (errors.As(err, &invalid) && invalid.reason == v1alpha1.ReasonInvalidConfiguration) {
			t.Errorf("%s: %v", server, err)
		}
		vc.Spec.TLS = nil
		if _, err := newConfig(vc, s); strings.HasPrefix(server, "http:") != (err != nil) {
			t.Errorf("%s with checks of certificates: %v", server, err)
		}
	}
}

func TestOnlyWhatNeedsANewConnectionChangesTheHash(t *testing.T) {
	vc := vcenterForTest()
	of := func(password string) Config {
		config, err := newConfig(vc, secret("username", "u", "password", password, "VC_HOST", "vc.example.com"))
		if err != nil {
			t.Fatal(err)
		}
		return config
	}
	before := of("a")
	vc.Spec.Limits.Tasks, vc.Status.VMs = 99, 500
	limits := of("a\n")
	if before.hash() != limits.hash() {
		t.Error("another limit, count or trailing newline would end the session")
	}
	rotated := of("b")
	if before.hash() == rotated.hash() {
		t.Error("another password would not open a new session")
	}
}
