package fairqueue

import (
	"time"

	"k8s.io/client-go/util/workqueue"
)

const (
	// firstRetry and lastRetry are the delays after the first failure and after many in a row.
	firstRetry, lastRetry = 5 * time.Millisecond, 30 * time.Second
	// retryJitter is the part of a delay that is random.
	retryJitter = 0.2
)

// Backoff is the delay of an item that failed. It counts the failures of this item and of no other: one limit for all items, as client-go's
// default has, makes the items of healthy tenants wait for those of a failing one.
type Backoff[T comparable] struct {
	workqueue.TypedRateLimiter[T]
	// random returns a number in [0,1).
	random func() float64
}

// NewBackoff returns a Backoff. random returns a number in [0,1).
func NewBackoff[T comparable](random func() float64) Backoff[T] {
	return Backoff[T]{workqueue.NewTypedItemExponentialFailureRateLimiter[T](firstRetry, lastRetry), random}
}

// When doubles the delay after each failure. It takes up to a fifth off at random, so that items that failed together do not come back together.
func (b Backoff[T]) When(item T) time.Duration {
	delay := b.TypedRateLimiter.When(item)
	return delay - time.Duration(retryJitter*b.random()*float64(delay))
}
