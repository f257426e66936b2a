package remote

import (
	"context"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/shardingtest"
)

// testBounds are the operator's default bounds.
func testBounds() Bounds {
	return Bounds{Guard: NewGuard(DefaultLimits(), NewPace(DefaultLimits())), Timeouts: Timeouts{
		Dial: 5 * time.Second, ResponseHeader: 30 * time.Second, Answer: time.Minute, Request: 10 * time.Second,
		PingInterval: 10 * time.Second, Ping: 5 * time.Second,
	}}
}

// The errors are real ones of real connections: classification depends on their wrapping.
func TestProblemsAreNamed(t *testing.T) {
	answering := func(code int) *httptest.Server {
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }))
		t.Cleanup(server.Close)
		return server
	}
	trusting := func(server *httptest.Server) *rest.Config {
		authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
		return &rest.Config{Host: server.URL, BearerToken: "s3cr3t-canary", TLSClientConfig: rest.TLSClientConfig{CAData: authority}}
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0") // the kernel accepts, but no process answers
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = plain.Close() })
	go func() {
		for {
			conn, err := plain.Accept()
			if err != nil {
				return
			}
			// A close with unread bytes would reset the connection, possibly before the client reads the
			// greeting.
			_, _ = conn.Read(make([]byte, 4096))
			_, _ = conn.Write([]byte("220 mail.example.org ready\r\n"))
			_ = conn.Close()
		}
	}()
	otherName := trusting(answering(200))
	otherName.ServerName = "somewhere.else.example.org"
	// No process listens on port 1. A port that was free a moment ago can be in use by another process now.
	tests := []struct {
		name    string
		config  *rest.Config
		reason  string
		message string
	}{
		{"unauthorized", trusting(answering(401)), v1alpha1.ReasonUnauthorized, "does not accept the operator's credentials"},
		{"forbidden", trusting(answering(403)), v1alpha1.ReasonUnauthorized, "forbids"},
		{"server error", trusting(answering(500)), v1alpha1.ReasonMemberUnreachable, "answers with an error"},
		{"unknown authority", &rest.Config{Host: answering(200).URL}, v1alpha1.ReasonMemberUnreachable, "unknown authority"},
		{"other name", otherName, v1alpha1.ReasonMemberUnreachable, "another host name"},
		{"refused", &rest.Config{Host: "https://127.0.0.1:1"}, v1alpha1.ReasonMemberUnreachable, "refuses connections"},
		{"silent", &rest.Config{Host: "https://" + silent.Addr().String()}, v1alpha1.ReasonMemberUnreachable, "does not answer in time"},
		{"not TLS", &rest.Config{Host: "https://" + plain.Addr().String()}, v1alpha1.ReasonMemberUnreachable, "does not speak TLS"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bounds := testBounds()
			if test.name == "silent" {
				bounds.Timeouts.Dial = 300 * time.Millisecond // any other handshake can take longer than that on a busy machine
			}
			api, err := New(test.config, nil, bounds, new(shardingtest.Leader(true)))
			if err != nil {
				t.Fatal(err)
			}
			defer api.End()
			_, err = api.Version(t.Context())
			if err == nil {
				t.Fatal("no error")
			}
			got := AsProblem(test.config.Host, err)
			if got.Reason != test.reason || !strings.Contains(got.Message, test.message) || got.Lasting {
				t.Errorf("problem = %+v", got)
			}
			if strings.Contains(got.Error(), "s3cr3t-canary") {
				t.Errorf("the problem contains a secret: %v", got)
			}
		})
	}
}

func TestEndedTransportDialsNoMore(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	transport, err := newTransport(&rest.Config{Host: server.URL}, nil, testBounds())
	if err != nil {
		t.Fatal(err)
	}
	transport.end()
	if conn, err := transport.dial(context.Background(), "tcp", server.Listener.Addr().String()); err == nil {
		_ = conn.Close()
		t.Error("an ended transport dials")
	}
}

func TestMessagesFromMembersAreBounded(t *testing.T) {
	long := apierrors.NewForbidden(v1alpha1.Resource("vmgroups"), strings.Repeat("ü", 10_000), nil)
	got := Classify("https://h", long)
	if len(got.Message) > 600 || !utf8.ValidString(got.Message) {
		t.Errorf("message of %d bytes, valid %v", len(got.Message), utf8.ValidString(got.Message))
	}
}

func TestMessagesFromMembersAreHarmless(t *testing.T) {
	evil := &apierrors.StatusError{ErrStatus: metav1.Status{Code: 500, Reason: "\x1b[2JBroken\n", Message: "\u202eevil\x00" + strings.Repeat("x", 10_000)}}
	got := Classify("https://h", evil)
	if want := "https://h answers with an error: �[2JBroken  (500)."; got.Message != want {
		t.Errorf("the message is %q, want %q", got.Message, want)
	}
	for _, text := range []string{got.Error(), AnswerOf(evil)} {
		if strings.ContainsAny(text, "\x1b\x00\n\u202e") || len(text) > 2100 || !strings.Contains(text, "�evil�xxx") {
			t.Errorf("%d bytes: %.100q", len(text), text)
		}
	}
}
