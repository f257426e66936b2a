package server

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"go.uber.org/zap/zapcore"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/codeconnect/vmgroup-operator/internal/logsink"
)

// served answers probes on pipes until the test stops it.
func (p Probes) served(t *testing.T) (outside pipes, end func()) {
	t.Helper()
	outside = make(pipes)
	server := p.server(outside, logr.Discard())
	return outside, served(t, server.Server, server.Listener)
}

func TestProbesAreAnsweredTogetherAndByName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outside, end := Probes{
			LivePath:  {"alive": healthz.Ping},
			ReadyPath: {"ring": healthz.Ping, "caches": func(*http.Request) error { return errors.New("not filled") }},
		}.served(t)
		defer end()
		for path, want := range map[string]string{
			"/healthz": "200 OK", "/healthz/alive": "200 OK", "/readyz": "500 Internal Server Error", "/readyz/ring": "200 OK", "/readyz/caches": "500 Internal Server Error",
			"/readyz/alive": "404 Not Found", "/": "404 Not Found",
		} {
			if answer, _ := answerTo(t, outside.dialPlain(), "GET "+path+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(answer, want) {
				t.Errorf("%s: %s, want %s", path, answer, want)
			}
		}
	})
}

// logged is what controller-runtime logs. It accepts a logger only within 30 seconds after the start of the process, and the other tests can take longer.
var logged = func() *lockedBuffer {
	out := &lockedBuffer{}
	ctrl.SetLogger(logsink.Harmless(zap.New(zap.WriteTo(out), zap.JSONEncoder())))
	return out
}()

// lockedBuffer is a buffer that several goroutines write to.
type lockedBuffer struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (b *lockedBuffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.Write(text)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.String()
}

// controller-runtime logs the statuses as values without exported fields, which were {} in the log.
func TestTheLogNamesTheCheckThatFailed(t *testing.T) {
	checks := map[string]healthz.Checker{"alive": healthz.Ping, "caches": func(*http.Request) error { return errors.New("not filled") }}
	(&healthz.Handler{Checks: checks}).ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	if want := "{name:caches healthy:false excluded:false}"; !strings.Contains(logged.String(), want) {
		t.Errorf("the log lacks %s: %s", want, logged.String())
	}
}

// TestThePortOfProbesIsBounded: the maximum number of clients keep a connection by an unfinished head, and end before kubelet's timeout.
func TestThePortOfProbesIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outside, end := Probes{LivePath: {"alive": healthz.Ping}}.served(t)
		defer end()
		var all sync.WaitGroup
		for range probeConnections {
			conn := outside.dialPlain()
			all.Go(func() {
				if answer, open := answerTo(t, conn, "GET /healthz HTTP/1.1\r\n"); open > headPatience {
					t.Errorf("open for %v: %s", open, answer)
				}
			})
		}
		synctest.Wait()
		answer, took := answerTo(t, outside.dialPlain(), "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		if !strings.HasPrefix(answer, "200 ") || took > headPatience || took == 0 {
			t.Errorf("one more: after %v %s", took, answer)
		}
		all.Wait()

		// An endless head is not kept.
		conn := outside.dialPlain()
		defer func() { _ = conn.Close() }()
		taken := make(chan int, 1)
		go func() {
			n, _ := io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\nX: "+strings.Repeat("x", 1<<20))
			taken <- n
		}()
		begun := time.Now()
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
		if n := <-taken; response.StatusCode != http.StatusRequestHeaderFieldsTooLarge || n > 4*smallHead || time.Since(begun) > headPatience {
			t.Errorf("after %v and %d bytes: %s", time.Since(begun), n, response.Status)
		}
		<-time.After(headPatience) // net/http waits a little before it closes such a connection
	})
}

func TestProbesThatSucceedLogNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		outside := make(pipes)
		server := Probes{LivePath: {"alive": healthz.Ping}, ReadyPath: {"ring": healthz.Ping}}.server(outside, zap.New(zap.WriteTo(&out), zap.Level(zapcore.Level(-5))))
		defer served(t, server.Server, server.Listener)()
		for _, path := range []string{LivePath, ReadyPath} {
			if answer, _ := answerTo(t, outside.dialPlain(), fmt.Sprintf("GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", path)); !strings.HasPrefix(answer, "200 ") {
				t.Errorf("%s: %s", path, answer)
			}
		}
		if out.Len() > 0 {
			t.Errorf("probes are logged: %s", out.String())
		}
	})
}
