// Package await waits for conditions, in tests and in programs that start servers. All of them wait here: no other code in the tests polls.
package await

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// Patience limits the waits of a test. It ends hung tests, also on a busy machine. Most waits are much shorter.
const Patience = 5 * time.Minute

// Condition calls condition until it returns true or ctx ends. It keeps an error of condition for the message and continues, because
// starting and stopping servers refuse connections. The interval grows with the wait, so that a wait of a minute leaves the machine to the
// program that it waits for.
func Condition(ctx context.Context, what string, condition func(context.Context) (bool, error)) error {
	began := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	var last error // the server's error, not the error of the ended wait
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

// pause is the time until the next call after such a wait: a twentieth of it.
func pause(waited time.Duration) time.Duration {
	const least, most = 10 * time.Millisecond, 250 * time.Millisecond
	return min(max(waited/20, least), most)
}

// Until is [Condition] for a test, which fails after [Patience]. The failure includes the results of seen.
func Until(t testing.TB, what string, condition func(context.Context) (bool, error), seen ...func() string) {
	t.Helper()
	// A test also waits while it cleans up, after its own context has ended.
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

// True is [Until] for a condition that needs no server.
func True(t testing.TB, what string, holds func() bool, seen ...func() string) {
	t.Helper()
	Until(t, what, func(context.Context) (bool, error) { return holds(), nil }, seen...)
}

// NoError is [Until] for a check whose error describes the unmet condition.
func NoError(t testing.TB, what string, check func() error) {
	t.Helper()
	Until(t, what, func(context.Context) (bool, error) {
		err := check()
		return err == nil, err
	})
}

// Received returns the next value of c, or the zero value if c was closed. The test fails after the time of [Until].
func Received[T any](t testing.TB, what string, c <-chan T) T {
	t.Helper()
	timer := time.NewTimer(Patience)
	defer timer.Stop()
	select {
	case value := <-c:
		return value
	case <-timer.C:
		t.Fatalf("waiting for %s: not within %s", what, Patience)
		panic("unreachable")
	}
}
