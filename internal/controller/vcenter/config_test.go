package vcenter

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
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
		{story: "http to another host", server: "http://10.0.0.1", tls: &v1alpha1.TLSConfig{InsecureSkipVerify: true}, secret: good, url: "http://10.0.0.1/sdk"},
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
	const unsaid = "\x00"
	for _, c := range []struct {
		server, key, annotation string
		told                    string // the reason of UnboundSecret, where the password is sent for this release
		sent                    bool
	}{
		{"https://vc.example.com", "vc.example.com", unsaid, "", true},
		{"https://vc.example.com:443/sdk", "VC.Example.com", unsaid, "", true},
		{"https://vc.example.com:8443", "https://vc.example.com:8443", unsaid, "", true},
		{"https://10.0.0.1", unsaid, "vc.example.com, 10.0.0.1", "", true},
		{"https://[fd00::1]:8443", unsaid, "[fd00::1]:8443", "", true},
		{"https://127.0.0.1:8443", unsaid, "127.0.0.1:*", "", true},
		{"", "vc.example.com", unsaid, "", true},
		{"", "http://sim.example.com", unsaid, "", true},
		{"http://sim.example.com", unsaid, "http://sim.example.com", "", true},
		{"http://sim.example.com", "sim.example.com", unsaid, v1alpha1.ReasonSecretForAnotherHost, true},
		{"http://sim.example.com:443", "sim.example.com", unsaid, v1alpha1.ReasonSecretForAnotherHost, true},
		{"https://vc2.example.com", "vc.example.com", "vc2.example.com", "", true}, // the annotation wins
		{"https://vc.example.com:8443", "vc.example.com", unsaid, v1alpha1.ReasonSecretForAnotherHost, true},
		{"https://listener.example.com", "vc.example.com", unsaid, v1alpha1.ReasonSecretForAnotherHost, true},
		{"https://vc.example.com.listener.org", "vc.example.com", unsaid, v1alpha1.ReasonSecretForAnotherHost, true},
		{"https://listener.org/vc.example.com", "vc.example.com", unsaid, v1alpha1.ReasonSecretForAnotherHost, true},
		{"https://vc.example.com", "https://u:canary@vc.example.com", unsaid, v1alpha1.ReasonSecretWithoutHost, true},

		{"https://vc.example.com", "vc.example.com", "vc2.example.com", "", false},
		{"", "vc.example.com", "vc2.example.com", "", false},
		{"http://vc.example.com", unsaid, "vc.example.com", "", false}, // not in the clear, where the Secret names no port for that
		{"http://vc.example.com", unsaid, "https://vc.example.com", "", false},
		{"http://vc.example.com:443", unsaid, "vc.example.com", "", false},
		{"http://vc.example.com:443", unsaid, "https://vc.example.com", "", false},
		{"https://vc.example.com", unsaid, "", "", false},
		{"https://vc.example.com", unsaid, "*", "", false},
		{"https://vc.example.com", unsaid, "*.example.com", "", false},
		{"https://vc.example.com", unsaid, "u@vc.example.com", "", false},
		{"https://vc.example.com", unsaid, ":*", "", false},
		{"https://vc.example.com:8443", unsaid, "vc.example.com", "", false},
		{"https://listener.example.com", unsaid, "vc.example.com", "", false},
		{"https://vc.example.com.listener.org", unsaid, "vc.example.com", "", false},
		{"https://listener.org/vc.example.com", unsaid, "vc.example.com", "", false},
	} {
		vc, s := vcenterForTest(), secret("username", "u", "password", "canary")
		vc.Spec.Server, vc.Spec.TLS = c.server, &v1alpha1.TLSConfig{InsecureSkipVerify: true}
		if c.key != unsaid {
			s.Data["VC_HOST"] = []byte(c.key)
		}
		if c.annotation != unsaid {
			s.Annotations = map[string]string{v1alpha1.VCenterHostsAnnotation: c.annotation}
		}
		config, err := newConfig(vc, s)
		var refused *configError
		switch {
		case c.sent && (err != nil || config.Unbound.reason != c.told):
			t.Errorf("%+v: %v, unbound: %+v", c, err, config.Unbound)
		case strings.Contains(config.Unbound.message, "canary"):
			t.Errorf("%+v: the password is shown: %s", c, config.Unbound.message)
		case !c.sent && (!errors.As(err, &refused) || refused.reason != v1alpha1.ReasonSecretForAnotherHost):
			t.Errorf("%+v: %v", c, err)
		case !c.sent && (strings.Contains(err.Error(), "canary") || !strings.Contains(err.Error(), "kubectl -n vmgroup-operator-system annotate secret vc-creds")):
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestASecretThatNamesNoHostWorksForOneReleaseMore(t *testing.T) {
	vc := vcenterForTest()
	vc.Spec.Server = "https://vc.example.com:8443"
	s := secret("username", "u", "password", "a")
	before, err := newConfig(vc, s)
	if err != nil || !strings.HasSuffix(before.Unbound.message, "kubectl -n vmgroup-operator-system annotate secret vc-creds vm.codeconnect.vmworld.com/vcenter-hosts=vc.example.com:8443") {
		t.Fatalf("%v, told: %+v", err, before.Unbound)
	}
	now := time.Now()
	vc.Status = newStatus(vc, look{unbound: before.Unbound}, now)
	if c := meta.FindStatusCondition(vc.Status.Conditions, v1alpha1.ConditionUnboundSecret); c == nil || c.Status != metav1.ConditionTrue || c.Reason != v1alpha1.ReasonSecretWithoutHost || c.Message != before.Unbound.message {
		t.Errorf("the condition is %+v", c)
	}
	blocked := blockedStatus(vc, look{}, v1alpha1.ReasonSecretForAnotherHost, "another", now)
	if c := meta.FindStatusCondition(blocked.Conditions, v1alpha1.ConditionUnboundSecret); c != nil {
		t.Errorf("a Secret that names another host is said to name none: %+v", c)
	}
	// What the command does is enough, and ends no session.
	s.Annotations = map[string]string{v1alpha1.VCenterHostsAnnotation: "vc.example.com:8443"}
	after, err := newConfig(vc, s)
	if err != nil || after.Unbound != (notice{}) || after.hash() != before.hash() {
		t.Errorf("%v, told: %+v, another session: %t", err, after.Unbound, after.hash() != before.hash())
	}
	vc.Status = newStatus(vc, look{}, now)
	if c := meta.FindStatusCondition(vc.Status.Conditions, v1alpha1.ConditionUnboundSecret); c != nil {
		t.Errorf("the condition stays: %+v", c)
	}
}

// spec.server wins over VC_HOST in the versions before, and a VC_HOST that was left there had no effect.
func TestAnotherHostInVCHostWorksForOneReleaseMore(t *testing.T) {
	vc, s := vcenterForTest(), secret("VC_USER", "u", "VC_PASS", "p", "VC_HOST", "old.example.com")
	vc.Spec.Server = "https://10.0.0.7"
	config, err := newConfig(vc, s)
	if err != nil || config.Unbound.reason != v1alpha1.ReasonSecretForAnotherHost || !strings.Contains(config.Unbound.message, "next version refuses") {
		t.Fatalf("%v, told: %+v", err, config.Unbound)
	}
	vc.Status = newStatus(vc, look{unbound: config.Unbound}, time.Now())
	if c := meta.FindStatusCondition(vc.Status.Conditions, v1alpha1.ConditionUnboundSecret); c == nil || c.Status != metav1.ConditionTrue ||
		c.Reason != v1alpha1.ReasonSecretForAnotherHost || c.Message != config.Unbound.message {
		t.Errorf("the condition is %+v", c)
	}
	allow(t, s, config.Unbound.message)
	if after, err := newConfig(vc, s); err != nil || after.Unbound != (notice{}) || after.hash() != config.hash() {
		t.Errorf("after the command: %v %+v, another session: %t", err, after.Unbound, after.hash() != config.hash())
	}
	// What is annotated is refused at once: no earlier version knew the annotation.
	vc.Spec.Server = "https://listener.example.com"
	var refused *configError
	if _, err := newConfig(vc, s); !errors.As(err, &refused) || refused.reason != v1alpha1.ReasonSecretForAnotherHost {
		t.Errorf("an annotated Secret for another host: %v", err)
	}
}

// http went anywhere in the versions before, to those who turned the checks of certificates off.
func TestHTTPToAnotherHostWorksForOneReleaseMore(t *testing.T) {
	for server, told := range map[string]bool{
		"http://10.0.0.7": true, "http://sim.example.com:8989": true, "http://localhost.example.com:1": true, "http://[fd00::1]": true,
		"http://127.0.0.1:8989": false, "http://[::1]:8989": false, "http://localhost:8989": false, "https://10.0.0.7": false,
	} {
		vc, s := vcenterForTest(), secret("username", "u", "password", "p")
		vc.Spec.Server, vc.Spec.TLS = server, &v1alpha1.TLSConfig{InsecureSkipVerify: true}
		before, err := newConfig(vc, s)
		if err != nil || told != (before.PlainHTTP.reason == v1alpha1.ReasonHTTPToAnotherHost && strings.Contains(before.PlainHTTP.message, "next version refuses")) {
			t.Errorf("%s: %v, told: %+v", server, err, before.PlainHTTP)
		}
		// The command about the Secret does not take the vCenter away either.
		allow(t, s, before.Unbound.message)
		after, err := newConfig(vc, s)
		if err != nil || after.Unbound != (notice{}) || after.PlainHTTP != before.PlainHTTP || after.hash() != before.hash() {
			t.Errorf("%s, annotated: %v, told: %+v", server, err, after)
		}
		now := time.Now()
		vc.Status = newStatus(vc, look{plainHTTP: after.PlainHTTP}, now)
		c := meta.FindStatusCondition(vc.Status.Conditions, v1alpha1.ConditionPlainHTTP)
		if told != (c != nil && c.Status == metav1.ConditionTrue && c.Message == after.PlainHTTP.message) {
			t.Errorf("%s: the condition is %+v", server, c)
		}
		vc.Status = newStatus(vc, look{}, now)
		if c := meta.FindStatusCondition(vc.Status.Conditions, v1alpha1.ConditionPlainHTTP); c != nil {
			t.Errorf("%s: the condition stays: %+v", server, c)
		}
		vc.Spec.TLS = nil
		if _, err := newConfig(vc, s); strings.HasPrefix(server, "http:") != (err != nil) {
			t.Errorf("%s with checks of certificates: %v", server, err)
		}
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
