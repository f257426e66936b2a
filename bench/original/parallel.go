package original

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// width limits the concurrent operations in vCenter of each pass.
const width = 3

// parallel calls do for 0 to n-1, at most width at a time, and returns the first error when all have ended. After a failure, ctx of the
// others ends.
func parallel(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(width)
	for i := range n {
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}
