package vmgroup

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"
)

const (
	// firstRetry and lastRetry are the pauses after a first failure and after many in a row.
	firstRetry, lastRetry = 5 * time.Millisecond, 30 * time.Second
	// retryJitter is the part of a pause that is up to chance.
	retryJitter = 0.2
)

// retries is how long a group waits after a pass that an API server has failed. It counts the failures of this group and of no other:
// a limit for all together, as client-go's default has, makes the groups of healthy members wait for those of an ill one.
type retries struct {
	workqueue.TypedRateLimiter[mcreconcile.Request]
	// waits reports whether a request only waits for its pass.
	waits func(mcreconcile.Request) bool
	// random is a number in [0,1).
	random func() float64
}

func newRetries(waits func(mcreconcile.Request) bool, random func() float64) retries {
	return retries{workqueue.NewTypedItemExponentialFailureRateLimiter[mcreconcile.Request](firstRetry, lastRetry), waits, random}
}

// When is twice as long after each failure. Up to a fifth of it is taken off by chance, so that groups that failed together do not come back together.
func (r retries) When(request mcreconcile.Request) time.Duration {
	pause := r.TypedRateLimiter.When(request)
	return pause - time.Duration(retryJitter*r.random()*float64(pause))
}

// Forget forgets the failures of a group after a pass that did not fail. One that found no place was none.
func (r retries) Forget(request mcreconcile.Request) {
	if !r.waits(request) {
		r.TypedRateLimiter.Forget(request)
	}
}
