package server

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"
)

// LeaveTime is the default time for which a terminating replica still answers webhook calls after it became unready: load
// balancers need that time to discover it, and API servers to close their connections. It runs in parallel with the drain.
const LeaveTime = 5 * time.Second

var errLeaving = errors.New("this replica is ending")

// Leaving moves the callers of the webhooks to another replica before this one ends. If admission.failurePolicy is Fail, an
// interrupted call is a refusal.
type Leaving struct {
	begun atomic.Bool
	// servers whose callers must leave, all added before Leave.
	servers []*http.Server
	// Time to answer calls after Leave begins; 0 without webhooks.
	Time time.Duration
}

// Leave marks the replica as terminating. It returns when callers had time to leave, or when ctx ends.
func (l *Leaving) Leave(ctx context.Context) {
	if l.Time == 0 {
		return
	}
	l.begun.Store(true)
	for _, server := range l.servers {
		defer server.SetKeepAlivesEnabled(false) // closes idle connections at that time
	}
	timer := time.NewTimer(l.Time)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// Check is for /readyz.
func (l *Leaving) Check(*http.Request) error {
	if l.begun.Load() {
		return errLeaving
	}
	return nil
}

// add adds a server that uses a handler from handler. It is not safe for concurrent use.
func (l *Leaving) add(server *http.Server) { l.servers = append(l.servers, server) }

// handler asks callers to close their connection once the replica is terminating.
func (l *Leaving) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if l.begun.Load() {
			w.Header().Set("Connection", "close")
		}
		ctx, done := l.answered(r.Context())
		defer done()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// answered returns a context for a call. It ends when the caller disconnects, but not because this process is terminating:
// the server ends the contexts of all calls at once, before it waits for them.
func (l *Leaving) answered(call context.Context) (ctx context.Context, done func()) {
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
