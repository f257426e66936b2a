package webhook

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// call is what handlers and the HTTP layer know of one request. Only the goroutine of the request uses it.
type call struct {
	// member is the MemberCluster that asks; empty for the hub's own kinds.
	member string
	// turn of the request, while it is worked on.
	turn *turn
	// failure is set when nobody can tell whether the object may pass.
	failure error
}

type callKey struct{}

func withCall(ctx context.Context, c *call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

// callOf returns the call of a request. There is always one: handlers run below an endpoint only.
func callOf(ctx context.Context) *call { return ctx.Value(callKey{}).(*call) }

// unavailableError says that a request cannot be reviewed now. The member's failurePolicy decides.
func (c *call) unavailable(err error) error {
	c.failure = err
	return apierrors.NewInternalError(fmt.Errorf("admission: %w", err))
}
