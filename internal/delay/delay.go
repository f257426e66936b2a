// Package delay waits for a time or for the end of a context, whichever comes first.
package delay

import (
	"context"
	"time"
)

// For waits for d. If ctx ends before that, or has ended, it returns the context's error.
func For(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
