package server

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"
)

// LeaveTime is how long a replica that ends still answers webhook calls after it has said that it is not ready, by default:
// load balancers need that long to hear it, and API servers to let go of the connections that they keep. It runs beside the
// drain.
const LeaveTime = 5 * time.Second

var errLeaving = errors.New("this replica is ending")

// Leaving lets the callers of the webhooks go to another replica before this one ends. A call that is cut is a refusal
// wherever admission.failurePolicy is Fail.
type Leaving struct {
	begun atomic.Bool
	// servers whose callers are let go, all added before the beginning.
	servers []*http.Server
	// Time to answer after the beginning; 0 without webhooks.
	Time time.Duration
}

// Leave says that the replica is ending, and returns when nobody should call it any more, or when ctx ends.
func (l *Leaving) Leave(ctx context.Context) {
	if l.Time == 0 {
		return
	}
	l.begun.Store(true)
	for _, server := range l.servers {
		defer server.SetKeepAlivesEnabled(false) // closes what is idle then
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

// add takes a server whose handler is one of handler's. It is not for concurrent use.
func (l *Leaving) add(server *http.Server) { l.servers = append(l.servers, server) }

// handler tells callers to hang up once the replica is ending.
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

// answered returns a context for a call: it ends when the caller hangs up, but not because this process is ending, whose
// server ends the contexts of all calls at once, before it waits for them.
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
