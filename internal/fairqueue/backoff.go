package fairqueue

import (
	"time"

	"k8s.io/client-go/util/workqueue"
)

const (
	// firstRetry and lastRetry are the delays after the first failure and after many in a row.
	firstRetry, lastRetry = 5 * time.Millisecond, 30 * time.Second
	// retryJitter is the random part of a delay.
	retryJitter = 0.2
)

// Backoff is the delay of an item that failed. It counts the failures of each item separately: with one limit for all items, like client-go's
// default, the items of healthy tenants wait for those of a failing one.
type Backoff[T comparable] struct {
	workqueue.TypedRateLimiter[T]
	// random returns a number in [0,1).
	random func() float64
}

// NewBackoff returns a Backoff. random returns a number in [0,1).
func NewBackoff[T comparable](random func() float64) Backoff[T] {
	return Backoff[T]{workqueue.NewTypedItemExponentialFailureRateLimiter[T](firstRetry, lastRetry), random}
}

// When doubles the delay after each failure. It subtracts up to a fifth at random, so that items that failed together are not retried together.
func (b Backoff[T]) When(item T) time.Duration {
	delay := b.TypedRateLimiter.When(item)
	return delay - time.Duration(retryJitter*b.random()*float64(delay))
}
