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
	// steady is the minimum duration of a watch that counts as stable. API servers let watches last for minutes.
	steady = 30 * time.Second
	// quiet is the minimum duration of a stable watch whose initial events were complete: some proxies end idle connections after 15 seconds. It
	// does not apply to a watch that ends as expired, which causes a new list.
	quiet = 5 * time.Second
	// freeRestarts is the number of restarts without a pause: an API server that restarts ends watches now and then.
	freeRestarts = 2
	// manyRestarts is the number of restarts in a row that are reported.
	manyRestarts = 5
	// longestRest is the longest pause before a watch.
	longestRest = time.Minute
)

// restarts records whether an informer keeps up with its member. client-go restarts a watch that was answered as expired, or that ended after an
// event, without any pause.
type restarts struct {
	kind string

	mu sync.Mutex
	// freshAt is when the cache was last known to be up to date, while no watch is current.
	freshAt time.Time
	// follows: a watch is open and its initial events are complete.
	follows bool
	// openedAt is when the last watch was opened.
	openedAt time.Time
	// short is the number of watches in a row that ended immediately. next is the earliest time of another watch.
	short int
	next  time.Time
	// why is the error of the last list or watch, or nil.
	why error
}

// rest waits until a watch can start.
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

// refused records that a watch was not opened. After errors other than expiry, client-go waits on its own.
func (r *restarts) refused(now time.Time, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.why = remote.Brief(err)
	if isExpired(err) {
		r.countLocked(now)
	}
}

func isExpired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

// watchEnded records the end of a watch; ours is true if the operator ended it.
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

// behind returns the reason why the cache has been outdated for longer than patience, or nil.
func (r *restarts) behind(host string, now time.Time, patience time.Duration) *remote.Problem {
	r.mu.Lock()
	defer r.mu.Unlock()
	isSteady := r.follows && now.Sub(r.openedAt) >= steady
	said := "" // its message contains versions, which change from time to time
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

// EndlessList is the refusal of a list that is longer than limit.
func EndlessList(kind string, limit int64) error {
	return &remote.LimitError{
		What: fmt.Sprintf("the list of %ss does not end", kind), Limit: fmt.Sprintf("%d MiB for all of its pages", limit>>20),
		Remedy: "If the member really has that many, raise --member-memory of the manager (manager.memberMemoryMiB of the chart).",
	}
}
