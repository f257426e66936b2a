package original

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// width is how many operations the original runs in vCenter at a time, for each pass.
const width = 3

// parallel runs do for 0 to n-1, at most width at a time, and returns the first error when all have ended. Once
// one has failed, ctx of the others ends.
func parallel(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(width)
	for i := range n {
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}
