package world

import (
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/shardingtest"
	"github.com/codeconnect/vmgroup-operator/test/harness/history"
)

const (
	// trip is the travel time of a request to the hub, of its response, and of a watch event.
	trip = shardingtest.Trip
	// firstTake is the time from the expiry of a session's takeover timeout until the shard map shows that its buckets
	// are taken: the news of the last renewal arrived one trip after it, the fence takes a round trip, the shard map a
	// trip.
	firstTake = 4 * trip
	// refused is the cost of finding the shard map changed by another replica: the rejection comes back, a read takes a
	// round trip, a write takes a trip. Two survivors conflict once for the buckets, and once for the leader's lock.
	refused  = 4 * trip
	lastTake = firstTake + 2*refused
)

// renewedAt is when the hub took the last renewal of a process before a moment.
func (w *World) renewedAt(boot string, moment time.Time) (last time.Time) {
	for _, e := range w.Hub.Log() {
		if e.Lease != nil && e.Lease.Boot == boot && e.Lease.FencedBy == "" && !e.At.After(moment) {
			last = e.At
		}
	}
	return last
}

// takenAfter checks that others took all buckets that a process held at a moment this long after its last renewal,
// neither earlier nor later.
func (w *World) takenAfter(boot string, moment, renewed time.Time, soonest, latest time.Duration) {
	w.t.Helper()
	gaps := w.gaps(boot, moment)
	if len(gaps) == 0 {
		w.t.Fatalf("%s held nothing", boot)
	}
	silent := moment.Sub(renewed)
	if first, last := shortest(gaps)+silent, longest(gaps)+silent; first < soonest || last > latest {
		w.t.Errorf("what %s held was taken %s to %s after its last renewal, want %s to %s", boot, first, last, soonest, latest)
	}
}

// still checks that no bucket changed hands since a moment, and that no replica had to stop.
func (w *World) still(since time.Time, why string) {
	w.t.Helper()
	if moves := w.Timeline().Moves(since); len(moves) > 0 {
		w.t.Errorf("%d buckets changed hands %s, first: %s", len(moves), why, moves[0])
	}
}

// unshaken checks that no replica has lost or regained anything since the last check.
func (w *World) unshaken(why string) {
	w.t.Helper()
	for _, r := range w.Alive() {
		if gained, lost := r.Changes(); gained+lost > 0 {
			w.t.Errorf("%s gained %d buckets and lost %d %s", r.Name, gained, lost, why)
		}
	}
}

// look clears the changes so far.
func (w *World) look() {
	for _, r := range w.replicas {
		r.Changes()
	}
}

// silentFrom checks that a process began no call in a time, and had none in flight from end on.
func (w *World) silentFrom(r *Replica, begin, end, until time.Time) {
	w.t.Helper()
	for _, c := range w.VCenter.History().Of(r.Boot).Calls {
		if c.Start.After(begin) && c.Start.Before(until) {
			w.t.Errorf("%s began a call %s after it had to stop: %s", r.Name, c.Start.Sub(begin), c)
			return
		}
		if c.Start.Before(until) && history.EndsAfter(c, end) && !c.Start.After(end) {
			w.t.Errorf("%s had a call under way %s after the end of its right: %s", r.Name, c.End.Sub(end), c)
			return
		}
	}
}

// eachActs checks that every living replica begins calls within a time.
func (w *World) eachActs(within time.Duration) {
	w.t.Helper()
	since := time.Now()
	w.Pass(within)
	h := w.VCenter.History()
	for _, r := range w.Alive() {
		calls := h.Of(r.Boot).Calls
		if len(calls) == 0 || calls[len(calls)-1].Start.Before(since) {
			w.t.Errorf("%s begins no call within %s", r.Name, within)
		}
	}
}

// phases are moments spread over the interval between two renewals.
func phases(t *testing.T, n int, tell func(t *testing.T, seed uint64, phase time.Duration)) {
	t.Helper()
	for i := range n {
		tell(t, uint64(i), time.Duration(i)*timings.Renew/time.Duration(n))
	}
}
