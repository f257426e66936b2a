package webhook

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// call is the state of one request for handlers and the HTTP layer. Only the goroutine of the request uses
// it.
type call struct {
	// member is the MemberCluster that sent the request; empty for the hub's own kinds.
	member string
	// turn of the request, while it is processed.
	turn *turn
	// failure is set if the operator cannot review the object at present.
	failure error
	// asks is true if the sender wants an [inquiry.Answer].
	asks bool
}

type callKey struct{}

func withCall(ctx context.Context, c *call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

// callOf returns the call of a request. A call always exists: handlers run below an endpoint only.
func callOf(ctx context.Context) *call { return ctx.Value(callKey{}).(*call) }

// unavailable reports that the operator cannot review a request at present. The member's failurePolicy
// decides.
func (c *call) unavailable(err error) error {
	c.failure = err
	return apierrors.NewInternalError(fmt.Errorf("admission: %w", err))
}
