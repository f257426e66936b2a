package main

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"
)

// leaveTime is how long a replica that ends still answers webhook calls after it has said that it is not ready, by default:
// load balancers need that long to hear it, and API servers to let go of the connections that they keep. It runs beside the
// drain.
const leaveTime = 5 * time.Second

var errLeaving = errors.New("this replica is ending")

// leaving lets the callers of the webhooks go to another replica before this one ends. A call that is cut is a refusal
// wherever admission.failurePolicy is Fail.
type leaving struct {
	begun atomic.Bool
	// servers whose callers are let go, all added before the beginning.
	servers []*http.Server
	// time to answer after the beginning; 0 without webhooks.
	time time.Duration
}

// leave says that the replica is ending, and returns when nobody should call it any more, or when ctx ends.
func (l *leaving) leave(ctx context.Context) {
	if l.time == 0 {
		return
	}
	l.begun.Store(true)
	for _, server := range l.servers {
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

// add takes a server whose handler is one of handler's. It is not for concurrent use.
func (l *leaving) add(server *http.Server) { l.servers = append(l.servers, server) }

// handler tells callers to hang up once the replica is ending.
func (l *leaving) handler(next http.Handler) http.Handler {
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
