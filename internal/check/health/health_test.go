//go:build unix

package health

import (
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/config/crd"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/hub"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/protocol"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/ring"
)

// sessionsAt are sessions by name, with their numbers of renewals.
func sessionsAt(state protocol.State, renewals map[string]int64) hub.Snapshot {
	s := hub.Snapshot{Found: true}
	for name, n := range renewals {
		s.Sessions = append(s.Sessions, hub.Session{Lease: protocol.Lease{Session: name, State: state, Renewals: n}})
	}
	return s
}

func TestASessionWorksWhenItGoesOn(t *testing.T) {
	before := sessionsAt(protocol.Ready, map[string]int64{"lives": 7, "dead": 9})
	after := sessionsAt(protocol.Ready, map[string]int64{"lives": 8, "dead": 9, "new": 3})
	if got := workingSessions(before, after); len(got) != 1 || !got["lives"] {
		t.Errorf("working are %v", got)
	}
	for _, state := range []protocol.State{protocol.Starting, protocol.Draining, protocol.Fenced} {
		if got := workingSessions(before, sessionsAt(state, map[string]int64{"lives": 8})); len(got) != 0 {
			t.Errorf("a session that is %s works", state)
		}
	}
}

func TestWhatTheCheckSays(t *testing.T) {
	all := map[string]bool{}
	for _, definition := range crd.Hub() {
		all[definition.Spec.Names.Kind] = true
	}
	held := hub.Snapshot{Found: true, Ring: ring.Ring{Buckets: []ring.Lock{{Holder: "a"}, {Holder: "b"}}}}
	condition := func(status metav1.ConditionStatus, generation int64) []metav1.Condition {
		return []metav1.Condition{{Type: "Ready", Status: status, Reason: "Unreachable", Message: "no\nroute", ObservedGeneration: generation}}
	}
	for _, c := range []struct {
		name  string
		got   finding
		level level
		says  string
	}{
		{"API server", assessAPIServer("v1.36.3", nil), fine, "v1.36.3"},
		{"no API server", assessAPIServer("", errors.New("no\nroute")), failure, "no route"},
		{"kinds", assessKinds(all, nil), fine, "all 5"},
		{"a kind is missing", assessKinds(map[string]bool{"VmGroup": true, "VmGroupLimits": true, "VCenter": true, "MemberCluster": true}, nil), failure, "VmGroupPolicy"},
		{"no kinds", assessKinds(nil, errors.New("not found")), failure, "not found"},
		{"all work", assessReplicas(3, 3, 3), fine, "3 of 3"},
		{"more work than wanted", assessReplicas(3, 4, 4), fine, "4 of 3"},
		{"a Pod is not ready", assessReplicas(3, 2, 3), failure, "2 of 3 Pods"},
		{"a replica takes no share", assessReplicas(3, 3, 2), failure, "2 of 3 take"},
		{"none is wanted", assessReplicas(0, 0, 0), warning, "none"},
		{"all held", assessRing(held, map[string]bool{"a": true, "b": true}), fine, "2 shares"},
		{"held by a dead replica", assessRing(held, map[string]bool{"a": true}), failure, "1 of 2"},
		{"free", assessRing(hub.Snapshot{Found: true, Ring: ring.Ring{Buckets: []ring.Lock{{}}}}, map[string]bool{"a": true}), failure, "1 of 1"},
		{"no shard map", assessRing(hub.Snapshot{}, nil), failure, "no replica has run"},
		{"Ready", assessReady("VCenter a", 2, condition(metav1.ConditionTrue, 2)), fine, "Ready"},
		{"not Ready", assessReady("VCenter a", 2, condition(metav1.ConditionFalse, 2)), warning, "Unreachable: no route"},
		{"was Ready", assessReady("VCenter a", 3, condition(metav1.ConditionTrue, 2)), warning, "before its last change"},
		{"new", assessReady("VCenter a", 1, nil), warning, "not been checked"},
		{"webhooks", assessWebhook("answer", nil), fine, "answer"},
		{"no webhooks", assessWebhook("", errors.New("refused")), failure, "refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.got.level != c.level || !strings.Contains(c.got.says, c.says) {
				t.Errorf("%s: %q, want %s: %q", c.got.level, c.got.says, c.level, c.says)
			}
			if c.got.level == failure && c.got.todo == "" {
				t.Error("a failure has no todo")
			}
		})
	}
}

func TestTheWebhooksCertificateIsVerified(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	file := filepath.Join(t.TempDir(), "ca.crt")
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(file, authority, 0o600); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		check Webhook
		err   string
	}{
		{"right", Webhook{server.URL, file, ""}, ""},
		{"right, under its name", Webhook{server.URL, file, "example.com"}, ""},
		{"another name", Webhook{server.URL, file, "vmgroups.test"}, "vmgroups.test"},
		{"an unknown authority", Webhook{server.URL, "", ""}, "unknown authority"},
		{"no authority in the file", Webhook{server.URL, empty, ""}, "no certificate"},
		{"no file", Webhook{server.URL, file + ".old", ""}, "read the authorities"},
		{"no server there", Webhook{"https://127.0.0.1:1", file, ""}, "refused"},
	} {
		said, err := c.check.callAll(t.Context())
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %q, error %v", c.name, said, err)
		}
		if err == nil && !strings.Contains(said, "until 20") {
			t.Errorf("%s: %q", c.name, said)
		}
	}
}

func TestAnIPv6AddressOfAServiceGetsItsBrackets(t *testing.T) {
	for given, want := range map[string]string{
		"https://fd00::1:443":         "https://[fd00::1]:443",
		"https://fd00::1:8443/path":   "https://[fd00::1]:8443/path",
		"https://[fd00::1]:443":       "https://[fd00::1]:443",
		"https://10.96.0.7:443":       "https://10.96.0.7:443",
		"https://vmgroups.example:1":  "https://vmgroups.example:1",
		"https://vmgroups.example/a:": "https://vmgroups.example/a:",
		"":                            "",
	} {
		if got := bracketed(given); got != want {
			t.Errorf("%q becomes %q, want %q", given, got, want)
		}
	}
}

func TestWarningsFailTheCheckOnlyWhenAsked(t *testing.T) {
	for _, c := range []struct {
		worst, lax, strict level
	}{
		{fine, fine, fine}, {warning, fine, warning}, {failure, failure, failure},
	} {
		found := []finding{{level: fine}, {level: c.worst}, {level: fine}}
		if lax, strict := worstOf(found, false), worstOf(found, true); lax != c.lax || strict != c.strict {
			t.Errorf("%s at the worst counts as %s, and %s when strict", c.worst, lax, strict)
		}
	}
}
