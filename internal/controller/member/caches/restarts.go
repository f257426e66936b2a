package caches

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/settings"
	"github.com/codeconnect/vmgroup-operator/internal/delay"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

const (
	// steady is how long a watch must last to count as one. API servers let them last for minutes.
	steady = 30 * time.Second
	// quiet is how long a watch must last to count as one if it had told all that was there before: proxies end those that are quiet for 15 seconds,
	// say. It does not hold for a watch that ends as expired, after which all is listed anew.
	quiet = 5 * time.Second
	// freeRestarts need no pause: an API server that is restarted ends watches now and then.
	freeRestarts = 2
	// manyRestarts, one after the other, are told.
	manyRestarts = 5
	// longestRest is the longest pause before a watch.
	longestRest = time.Minute
)

// restarts is how an informer keeps up with its member. client-go begins a watch that was told to be expired, or that ended after an event, anew
// without any pause.
type restarts struct {
	kind string

	mu sync.Mutex
	// freshAt is when what is cached was last known to be new, while no watch follows.
	freshAt time.Time
	// follows: a watch is open and has told all that was there before.
	follows bool
	// openedAt is when the last watch was opened.
	openedAt time.Time
	// short is how many watches in a row ended at once, and next when another one may begin.
	short int
	next  time.Time
	// why is what the last list or watch failed with, nil if it did not.
	why error
}

// rest waits until a watch may begin.
func (r *restarts) rest(ctx context.Context, now time.Time) error {
	r.mu.Lock()
	wait := r.next.Sub(now)
	r.mu.Unlock()
	return delay.For(ctx, wait)
}

func (r *restarts) opened(now time.Time, follows bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.openedAt, r.follows = now, follows
}

func (r *restarts) following() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.follows, r.why = true, nil
}

// refused notes that a watch was not opened. Others than that it is expired client-go waits for by itself.
func (r *restarts) refused(now time.Time, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.why = remote.Brief(err)
	if isExpired(err) {
		r.countLocked(now)
	}
}

func isExpired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

// watchEnded notes the end of a watch; ours says that the operator wanted it.
func (r *restarts) watchEnded(now time.Time, why error, ours bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	enough := steady
	if r.follows {
		r.freshAt = now
		if !isExpired(why) {
			enough = quiet
		}
	}
	r.follows = false
	if ours {
		return
	}
	r.why = remote.Brief(why)
	if now.Sub(r.openedAt) >= enough {
		r.short = 0
		return
	}
	r.countLocked(now)
}

func (r *restarts) countLocked(now time.Time) {
	r.short++
	if over := r.short - freeRestarts; over > 0 {
		r.next = now.Add(settings.Spread(min(time.Second<<min(over-1, 10), longestRest)))
	}
}

func (r *restarts) listEnded(now time.Time, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.why = remote.Brief(err)
	if err == nil {
		r.freshAt = now
	}
}

// behind says what keeps the cache from being new for longer than patience, or returns nil.
func (r *restarts) behind(host string, now time.Time, patience time.Duration) *remote.Problem {
	r.mu.Lock()
	defer r.mu.Unlock()
	isSteady := r.follows && now.Sub(r.openedAt) >= steady
	said := "" // its message has versions in it, which change from time to time
	if reason := apierrors.ReasonForError(r.why); reason != "" {
		said = fmt.Sprintf(" The last answer was %q.", untrusted.Text(string(reason), 60))
	}
	const kept = "What was last seen stays, and no VM is touched until it is better. Check the member's API server, and proxies and load balancers in between."
	switch {
	case r.short >= manyRestarts && !isSteady:
		return &remote.Problem{Reason: v1alpha1.ReasonCacheBehind, Cause: r.why, Message: fmt.Sprintf(
			"%s ends the watch of %ss again and again, as soon as it has begun; it is begun anew once a minute at most.%s %s", host, r.kind, said, kept)}
	case !r.follows && now.Sub(r.freshAt) > patience:
		return &remote.Problem{Reason: v1alpha1.ReasonCacheBehind, Cause: r.why, Message: fmt.Sprintf(
			"%s answers, but its list of %ss has not come to an end for more than %s.%s %s", host, r.kind, patience, said, kept)}
	}
	return nil
}

// EndlessList is the refusal of a list of which there is more than limit.
func EndlessList(kind string, limit int64) error {
	return &remote.LimitError{
		What: fmt.Sprintf("the list of %ss does not end", kind), Limit: fmt.Sprintf("%d MiB for all of its pages", limit>>20),
		Remedy: "If the member really has that many, raise --member-memory of the manager (manager.memberMemoryMiB of the chart).",
	}
}
