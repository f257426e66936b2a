// Package await has tests, and programs that start servers, wait for what becomes true. All of them wait here: nothing else in the
// tests polls.
package await

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// Patience bounds the waits of a test. It is for what hangs, on a machine that may be busy; what comes comes much earlier.
const Patience = 5 * time.Minute

// Condition asks until condition holds or ctx ends. An error of condition is kept for the message and asked
// again: servers that are being started or stopped refuse connections. It asks often in the beginning, and less often the longer it
// waits, so that what waits for a minute leaves the machine to what is waited for.
func Condition(ctx context.Context, what string, condition func(context.Context) (bool, error)) error {
	began := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	var last error // that of the server, and not that of the end of the wait
	for {
		ok, err := condition(ctx)
		if ok && err == nil {
			return nil
		}
		if ctx.Err() == nil {
			last = err
		}
		timer.Reset(pause(time.Since(began)))
		select {
		case <-ctx.Done():
			if last != nil {
				return fmt.Errorf("waiting for %s: %w; last: %w", what, context.Cause(ctx), last)
			}
			return fmt.Errorf("waiting for %s: %w", what, context.Cause(ctx))
		case <-timer.C:
		}
	}
}

// pause is the time until the next question after so long a wait: a twentieth of it.
func pause(waited time.Duration) time.Duration {
	const least, most = 10 * time.Millisecond, 250 * time.Millisecond
	return min(max(waited/20, least), most)
}

// Until is [Condition] for a test, which fails after [Patience]. What seen says then is part of the failure.
func Until(t testing.TB, what string, condition func(context.Context) (bool, error), seen ...func() string) {
	t.Helper()
	// A test also waits while it cleans up, when its own context has ended.
	ctx, cancel := context.WithTimeoutCause(context.Background(), Patience, fmt.Errorf("not within %s", Patience))
	defer cancel()
	err := Condition(ctx, what, condition)
	if err == nil {
		return
	}
	var more strings.Builder
	for _, say := range seen {
		more.WriteString("\n" + say())
	}
	t.Fatalf("%v%s", err, more.String())
}

// True is [Until] for what can be seen without asking a server.
func True(t testing.TB, what string, holds func() bool, seen ...func() string) {
	t.Helper()
	Until(t, what, func(context.Context) (bool, error) { return holds(), nil }, seen...)
}

// NoError is [Until] for a check whose error says what is missing.
func NoError(t testing.TB, what string, check func() error) {
	t.Helper()
	Until(t, what, func(context.Context) (bool, error) {
		err := check()
		return err == nil, err
	})
}
