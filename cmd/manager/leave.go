package main

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/webhook"

	vmwebhook "github.com/codeconnect/vmgroup-operator/internal/webhook"
)

// leaveTime is how long a replica that ends still answers webhook calls after it has said that it is not ready, by default:
// load balancers need that long to hear it, and API servers to let go of the connections that they keep. It runs beside the
// drain.
const leaveTime = 5 * time.Second

var errLeaving = errors.New("this replica is ending")

// leaving lets the callers of the webhooks go to another replica before this one ends. A call that is cut is a refusal
// wherever admission.failurePolicy is Fail.
type leaving struct {
	begun  atomic.Bool
	server atomic.Pointer[http.Server]
	// time to answer after the beginning; 0 without webhooks.
	time time.Duration
}

// leave says that the replica is ending, and returns when nobody should call it any more, or when ctx ends.
func (l *leaving) leave(ctx context.Context) {
	if l.time == 0 {
		return
	}
	l.begun.Store(true)
	if server := l.server.Load(); server != nil {
		defer server.SetKeepAlivesEnabled(false) // closes what is idle then
	}
	timer := time.NewTimer(l.time)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// check is for /readyz.
func (l *leaving) check(*http.Request) error {
	if l.begun.Load() {
		return errLeaving
	}
	return nil
}

// on registers handlers with a server so that they tell their callers to hang up once the replica is ending.
func (l *leaving) on(server webhook.Server) vmwebhook.Server { return leavingServer{server, l} }

type leavingServer struct {
	webhook.Server
	*leaving
}

// Register implements webhook.Server.
func (s leavingServer) Register(pattern string, handler http.Handler) {
	s.Server.Register(pattern, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if server, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok {
			s.server.Store(server) // controller-runtime does not hand it out
		}
		if s.begun.Load() {
			w.Header().Set("Connection", "close")
		}
		ctx, done := s.answered(r.Context())
		defer done()
		handler.ServeHTTP(w, r.WithContext(ctx))
	}))
}

// answered returns a context for a call: it ends when the caller hangs up, but not because this process is ending, whose
// server ends the contexts of all calls at once, before it waits for them.
func (l *leaving) answered(call context.Context) (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(call))
	stop := context.AfterFunc(call, func() {
		if !l.begun.Load() {
			cancel()
		}
	})
	return ctx, func() {
		stop()
		cancel()
	}
}
