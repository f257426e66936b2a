package server

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
)

// rollout is one replica that ends and one that stays, behind a balancer that detects late which of them is ready.
type rollout struct {
	t       *testing.T
	ending  *Leaving
	address string // of the one that ends
	stop    context.CancelFunc
	stopped chan struct{}
	// slow holds the calls of /slow until it is closed; slowBegun signals that one has arrived.
	slow, slowBegun chan struct{}
	stays           *httptest.Server
	// away is true once the balancer opens connections only to the one that stays.
	away atomic.Bool
}

func newRollout(t *testing.T, drain time.Duration) *rollout {
	t.Helper()
	r := &rollout{
		t: t, ending: &Leaving{Time: drain}, slow: make(chan struct{}), slowBegun: make(chan struct{}, 1),
		stays: httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})),
	}
	t.Cleanup(r.stays.Close)
	r.listen()
	return r
}

// listen starts the server of the replica that ends, as a manager does.
func (r *rollout) listen() {
	r.t.Helper()
	handler := http.NewServeMux()
	handler.HandleFunc("/fast", func(http.ResponseWriter, *http.Request) {})
	handler.HandleFunc("/slow", func(w http.ResponseWriter, request *http.Request) {
		r.slowBegun <- struct{}{}
		select {
		case <-r.slow:
		case <-request.Context().Done():
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	certificate := func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &r.stays.TLS.Certificates[0], nil }
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	server := door(listener, memberConnections, "members", certificate, r.ending, logr.Discard(), handler)
	r.address = server.Listener.Addr().String()
	ctx, stop := context.WithCancel(context.Background())
	r.stop, r.stopped = stop, make(chan struct{})
	go func() {
		defer close(r.stopped)
		if err := server.Start(ctx); err != nil {
			r.t.Error(err)
		}
	}()
	r.t.Cleanup(func() {
		stop()
		<-r.stopped
	})
}

// caller keeps connections, as an API server does.
func (r *rollout) caller() *http.Client {
	base := r.stays.Client().Transport.(*http.Transport).Clone()
	base.TLSClientConfig.ServerName, base.ForceAttemptHTTP2 = "example.com", false
	base.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		to := r.address
		if r.away.Load() {
			to = r.stays.Listener.Addr().String()
		}
		return (&net.Dialer{}).DialContext(ctx, "tcp", to)
	}
	r.t.Cleanup(base.CloseIdleConnections)
	return &http.Client{Transport: base}
}

// call posts a request that no client automatically sends again.
func (r *rollout) call(c *http.Client, path string) error {
	response, err := c.Post("https://webhooks.example.com"+path, "application/json", strings.NewReader("{}"))
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, response.Body)
	if err = errors.Join(err, response.Body.Close()); err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(response.Status)
	}
	return err
}

// balance detects after a while that the replica is not ready.
func (r *rollout) balance(lag time.Duration) {
	for r.ending.Check(nil) == nil {
		select {
		case <-r.stopped: // it never announced it
		case <-time.After(time.Millisecond):
			continue
		}
		break
	}
	<-time.After(lag)
	r.away.Store(true)
}

func TestNoCallFailsWhileAReplicaEnds(t *testing.T) {
	// The time that replicas have: callers that do not run for a while must still get the notice to close their connections
	// within it.
	r := newRollout(t, LeaveTime)
	var calls, failures atomic.Int64
	var each [8]atomic.Int64 // calls of one caller
	var first atomic.Pointer[error]
	ctx, end := context.WithCancel(t.Context())
	var load sync.WaitGroup
	for i := range each {
		c := r.caller()
		load.Go(func() {
			for ctx.Err() == nil {
				if err := r.call(c, "/fast"); err != nil {
					failures.Add(1)
					first.CompareAndSwap(nil, &err)
				}
				calls.Add(1)
				each[i].Add(1)
			}
		})
	}
	slow := make(chan error, 1)
	go func() { slow <- r.call(r.caller(), "/slow") }()
	<-r.slowBegun
	for calls.Load() < 100 {
		<-time.After(time.Millisecond)
	}
	balanced := make(chan struct{})
	go func() {
		defer close(balanced)
		r.balance(150 * time.Millisecond)
	}()
	begun := time.Now()
	r.ending.Leave(t.Context())
	if took := time.Since(begun); took < r.ending.Time {
		t.Errorf("it left after %s, and its balancer has %s", took, r.ending.Time)
	}
	if r.ending.Check(nil) == nil {
		t.Fatal("it left without saying so")
	}
	// The balancer of a busy machine can be late, and a caller possibly does not run between its choice of a replica and its
	// connection. Each has made its choice anew once it has made two more calls.
	<-balanced
	for i := range each {
		for before := each[i].Load(); each[i].Load() < before+2; {
			<-time.After(time.Millisecond)
		}
	}
	r.stop()
	select {
	case err := <-slow:
		t.Errorf("the call in flight was not waited for: %v", err)
		slow <- err
	case <-time.After(100 * time.Millisecond):
	}
	close(r.slow)
	if err := <-slow; err != nil {
		t.Errorf("the call in flight failed: %v", err)
	}
	<-r.stopped
	for before := calls.Load(); calls.Load() < before+100; {
		<-time.After(time.Millisecond)
	}
	end()
	load.Wait()
	if n := failures.Load(); n > 0 {
		t.Errorf("%d of %d calls failed, the first one with: %v", n, calls.Load(), *first.Load())
	}
}

func TestACallEndsWithItsCaller(t *testing.T) {
	l := &Leaving{}
	call, hangUp := context.WithCancel(t.Context())
	ctx, done := l.answered(call)
	defer done()
	hangUp()
	select {
	case <-ctx.Done():
	case <-time.After(time.Minute):
		t.Error("the call continues although its caller has hung up")
	}
}
