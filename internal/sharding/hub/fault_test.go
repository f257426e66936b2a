//go:build unix && !fast

package hub

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/protocol"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

// stub is a server whose responses the test defines, and which counts requests.
type stub struct {
	*httptest.Server
	requests, connections atomic.Int64
	answer                atomic.Value // of http.HandlerFunc
}

// newStub supports HTTP/2, like every API server.
func newStub(t *testing.T, answer http.HandlerFunc) *stub {
	t.Helper()
	s := &stub{}
	s.answer.Store(answer)
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		s.answer.Load().(http.HandlerFunc)(w, r)
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.connections.Add(1)
		}
	}
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func (s *stub) client(t *testing.T, options Options) *Client {
	t.Helper()
	options.Namespace = "n"
	return newClient(t, s.config(), options)
}

func (s *stub) config() *rest.Config {
	return &rest.Config{Host: s.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
}

func writeJSON(w http.ResponseWriter, code int, object any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(object)
}

func answerLease(w http.ResponseWriter, _ *http.Request) {
	object, _ := codecClient().encodeLease(exampleLease("s1"))
	object.APIVersion, object.Kind, object.ResourceVersion = "coordination.k8s.io/v1", "Lease", "5"
	writeJSON(w, http.StatusOK, object)
}

// hang holds a request until its client cancels it, which a server notices only after it has read the body.
func hang(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

func TestOnlyHTTP1IsSpoken(t *testing.T) {
	var major atomic.Int64
	s := newStub(t, func(w http.ResponseWriter, r *http.Request) {
		major.Store(int64(r.ProtoMajor))
		answerLease(w, r)
	})
	config := s.config()
	config.NextProtos = []string{"h2"}
	must(t, newClient(t, config, Options{Namespace: "n"}), protocol.ReadSession{Session: "s1"}, protocol.Done)
	if major.Load() != 1 {
		t.Errorf("HTTP/%d is spoken", major.Load())
	}
	response, err := s.Client().Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if major.Load() != 2 {
		t.Error("the server of this test does not offer HTTP/2")
	}
}

func TestABlackHoleCostsOneRequestAndTheNextDialsAnew(t *testing.T) {
	both := make(chan struct{})
	var arrived atomic.Int64
	s := newStub(t, func(w http.ResponseWriter, r *http.Request) {
		if arrived.Add(1) == 2 {
			close(both)
		}
		<-both
		answerLease(w, r)
	})
	c := s.client(t, Options{})
	// Two concurrent requests leave two idle connections.
	answered := make(chan protocol.Outcome)
	for range 2 {
		go func() { answered <- c.Do(t.Context(), protocol.ReadSession{Session: "s1"}).Outcome }()
	}
	for range 2 {
		if outcome := <-answered; outcome != protocol.Done {
			t.Fatalf("outcome %d without a fault", outcome)
		}
	}
	if n := s.connections.Load(); n != 2 {
		t.Fatalf("%d connections, want 2", n)
	}
	s.answer.Store(http.HandlerFunc(hang))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	returned := make(chan protocol.Result, 1)
	go func() { returned <- c.Do(ctx, protocol.WriteSession{Lease: exampleLease("s1"), Version: "5"}) }()
	select {
	case result := <-returned:
		if result.Outcome != protocol.Unknown || result.Err == nil {
			t.Errorf("outcome %d (%v), want Unknown", result.Outcome, result.Err)
		}
	case <-time.After(patience):
		t.Fatal("the request outlives its context")
	}
	s.answer.Store(http.HandlerFunc(answerLease))
	must(t, c, protocol.WriteSession{Lease: exampleLease("s1"), Version: "5"}, protocol.Done)
	if n := s.connections.Load(); n != 3 {
		t.Errorf("%d connections: a request after the black hole used an old one", n)
	}
}

func TestAnswersThatProveNothing(t *testing.T) {
	status := func(code int, reason metav1.StatusReason) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "1")
			writeJSON(w, code, metav1.Status{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
				Status:   metav1.StatusFailure, Code: int32(code), Reason: reason,
			})
		}
	}
	page := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "a page of a load balancer", code) }
	}
	for name, answer := range map[string]http.HandlerFunc{
		"500":                    status(http.StatusInternalServerError, metav1.StatusReasonInternalError),
		"503":                    status(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable),
		"504":                    status(http.StatusGatewayTimeout, metav1.StatusReasonTimeout),
		"429":                    status(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests),
		"404 without a name":     page(http.StatusNotFound),
		"403 by a proxy between": page(http.StatusForbidden),
		"409 by a proxy between": page(http.StatusConflict),
		"a page with success":    page(http.StatusOK),
		"another kind": func(w http.ResponseWriter, _ *http.Request) {
			writeJSON(w, http.StatusOK, metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"})
		},
		"half an answer": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte(`{"kind":`))
		},
		"a cut connection": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/elsewhere" {
				answerLease(w, r)
				return
			}
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStub(t, answer)
			c := s.client(t, Options{})
			for _, op := range []protocol.Op{
				protocol.ReadSession{Session: "s1"},
				protocol.WriteSession{Lease: exampleLease("s1"), Version: "5"},
				protocol.CreateSession{Lease: exampleLease("s1")},
			} {
				before := s.requests.Load()
				must(t, c, op, protocol.Unknown)
				if n := s.requests.Load() - before; n != 1 {
					t.Errorf("%s: %d requests were sent", describe(op), n)
				}
			}
		})
	}
}

func TestNobodyAnswers(t *testing.T) {
	s := newStub(t, answerLease)
	c := s.client(t, Options{})
	s.Close()
	must(t, c, protocol.ReadSession{Session: "s1"}, protocol.Unknown)
}

func TestALostAnswerOfAWriteThatWasCarriedOut(t *testing.T) {
	f := newFixture(t, "lost")
	proxy, c := proxied(t, f, Options{})
	straight := newClient(t, f.config, Options{Namespace: f.namespace})
	version := must(t, c, protocol.CreateSession{Lease: exampleLease("s1")}, protocol.Done).Lease.Version
	next := exampleLease("s1")
	next.Renewals++
	proxy.Hook(func(call localcluster.APICall) faultproxy.Fault {
		if call.Writes() {
			return faultproxy.Fault{Act: faultproxy.CutAfter}
		}
		return faultproxy.Fault{}
	})
	must(t, c, protocol.WriteSession{Lease: next, Version: version}, protocol.Unknown)
	stored := must(t, straight, protocol.ReadSession{Session: "s1"}, protocol.Done).Lease
	if stored.Renewals != next.Renewals {
		t.Errorf("renewals are %d after the lost answer, want %d", stored.Renewals, next.Renewals)
	}
	must(t, c, protocol.DeleteSession{Session: "s1", Version: stored.Version}, protocol.Unknown)
	must(t, straight, protocol.ReadSession{Session: "s1"}, protocol.Missing)
}

func TestTheTokenComesFromItsFile(t *testing.T) {
	var token atomic.Value
	s := newStub(t, func(w http.ResponseWriter, r *http.Request) {
		token.Store(r.Header.Get("Authorization"))
		answerLease(w, r)
	})
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("from-the-file"), 0o600); err != nil {
		t.Fatal(err)
	}
	config := s.config()
	config.BearerToken, config.BearerTokenFile = "from-the-start", file
	must(t, newClient(t, config, Options{Namespace: "n"}), protocol.ReadSession{Session: "s1"}, protocol.Done)
	if token.Load() != "Bearer from-the-file" {
		t.Errorf("authorization is %q", token.Load())
	}
}

func TestNewLeavesTheConfigurationAlone(t *testing.T) {
	config := &rest.Config{Host: "https://127.0.0.1:1", QPS: 3, Timeout: time.Second}
	before := rest.CopyConfig(config)
	newClient(t, config, Options{Namespace: "n"})
	if config.Dial != nil || config.QPS != before.QPS || config.Timeout != before.Timeout || config.NegotiatedSerializer != nil {
		t.Errorf("New changed the configuration to %v", config)
	}
	if _, err := New(config, Options{}); err == nil {
		t.Error("a client without a namespace was made")
	}
	config.Transport = http.DefaultTransport
	if _, err := New(config, Options{Namespace: "n"}); err == nil {
		t.Error("a foreign transport was accepted")
	}
}
