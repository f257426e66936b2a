package protocol

import (
	"errors"
	"fmt"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/ring"
)

// view is the newest shard map that the replica knows.
type view struct {
	ring    ring.Ring
	version string
	// stale: a newer one is known to exist, or a write's outcome is unknown. No write is sent before the next read.
	stale bool
	// unsure: a write at version was possibly executed, or can still be. Only a read of another version, or another write at that
	// version, settles it.
	unsure bool
	// missing and invalid: there is no shard map, or an unreadable one.
	missing, invalid bool
	// restored: the hub holds a shard map that is older than one that was seen.
	restored bool
	// fresh is the time since which a shard map has been seen that never had a claim.
	fresh instantOrNever
	// generation and sequence are the highest ever seen, here or by another replica.
	generation, sequence int64
	// wanted is the generation that objects require.
	wanted int64
}

// older reports whether a shard map precedes the newest that was seen.
func (v *view) older(of ring.Ring) bool {
	return of.Generation < v.generation || of.Generation == v.generation && of.Sequence < v.sequence
}

// ringRead takes the response to a read that was sent at sent. floor is the newest shard map that had been seen by then: an older
// response means that the shard map was restored from a backup.
func (r *Replica) ringRead(now, sent Instant, floor [2]int64, result Result) {
	switch result.Outcome {
	case Done:
		got := result.Ring
		r.view.missing, r.view.invalid = false, false
		if got.Ring.Generation < floor[0] || got.Ring.Generation == floor[0] && got.Ring.Sequence < floor[1] {
			// In the restored shard map, another session possibly holds what this replica holds, and the other way round.
			r.loseAll()
			r.view.restored = true
			r.view.ring, r.view.version, r.view.stale, r.view.unsure = got.Ring, got.Version, false, false
			return
		}
		r.extend(now, func() { r.verified.set(sent) })
		r.sawRing(now, got, true)
	case Missing, Invalid:
		var newer *ring.InvalidError
		if errors.As(result.Err, &newer) && newer.Format != 0 {
			// A later version of this program created it. A rebuild would make the two versions fight each other.
			r.ringProblem = problem("the shard map was written by a later version of this operator", result.Err)
			return
		}
		r.loseAll()
		r.view.missing, r.view.invalid = result.Outcome == Missing, result.Outcome == Invalid
		r.view.version, r.view.stale, r.view.unsure = result.Ring.Version, false, false
		r.ringProblem = problem("the shard map is "+map[Outcome]string{Missing: "missing", Invalid: "damaged"}[result.Outcome]+" and is being rebuilt", result.Err)
	default:
		// A temporarily unreachable hub is not a problem of this replica.
		if result.Outcome == Refused {
			r.ringProblem = problem("the shard map cannot be read", result.Err)
		}
		return
	}
	r.due[laneVerify] = sent.Mono + r.cfg.Timings.Renew
}

// SawRing takes a shard map from a watch. It is possibly outdated.
func (r *Replica) SawRing(now Instant, stored StoredRing) {
	if !r.view.older(stored.Ring) && !r.view.missing {
		r.sawRing(now, stored, false)
	}
}

// RingGone takes the report that there is no shard map, or an unreadable one; it triggers a read at once.
func (r *Replica) RingGone() { r.verifySoon() }

// verifySoon reads the shard map from the hub at once. A response already in flight is possibly older than the reason for the read, so
// another read follows it.
func (r *Replica) verifySoon() {
	r.due[laneVerify] = 0
	r.verifyAgain = r.flights[laneVerify] != nil
}

// sawRing takes the newest known shard map. A read settles the outcome of a write.
func (r *Replica) sawRing(now Instant, stored StoredRing, read bool) {
	v := &r.view
	if v.older(stored.Ring) {
		return
	}
	if v.unsure && stored.Version != v.version {
		v.unsure = false
	}
	if !v.unsure || read {
		v.stale = false
	}
	v.restored = false
	before := v.ring
	r.doubtFences(now, before, stored.Ring)
	v.ring, v.version = stored.Ring, stored.Version
	v.generation, v.sequence = stored.Ring.Generation, stored.Ring.Sequence
	if before.Leader.Holder != v.ring.Leader.Holder {
		r.changes.Peers = true
	}
	if v.ring.Settings != r.settings {
		r.loseAll()
		r.ringProblem = fmt.Sprintf("the shard map has %d buckets (hash %s, validity %s, takeover timeout %s), but this replica is configured with %d (hash %s, validity %s, takeover timeout %s); "+
			"these settings can only change while no other replica runs", v.ring.Settings.Buckets, v.ring.Settings.Hash, v.ring.Settings.Validity, v.ring.Settings.Patience,
			r.settings.Buckets, r.settings.Hash, r.settings.Validity, r.settings.Patience)
		r.expectHolders(now)
		return
	}
	if r.ringProblem != "" {
		r.ringProblem = ""
		r.renewNow()
	}
	if before.Rebuilt != v.ring.Rebuilt {
		v.fresh = instantOrNever{} // of the former shard map
	}
	r.noteFresh(now)
	r.noteClaims(before)
	r.keep(&r.leader, v.ring.Leader)
	for b := range r.locks {
		r.keep(&r.locks[b], v.ring.Buckets[b])
	}
	r.expectHolders(now)
}

// remember takes the newest shard map that another replica has seen. If the hub still holds the one that this replica knows, it was
// restored: the next read shows that.
func (r *Replica) remember(generation, sequence int64) {
	if generation > MaxGeneration || sequence > 1<<60 {
		return
	}
	if v := &r.view; generation > v.generation || generation == v.generation && sequence > v.sequence {
		v.generation, v.sequence = generation, sequence
		r.verifySoon()
	}
}

// keep drops a lock if the shard map shows that it is not held any more.
func (r *Replica) keep(s *lock, in ring.Lock) {
	if s.held && (in.Holder != r.session.name || in.Number != s.number) {
		r.lose(s)
	}
}

// noteFresh begins or ends the wait after the creation of a shard map.
func (r *Replica) noteFresh(now Instant) {
	v := &r.view
	used := v.ring.Leader.Number > 0
	for _, s := range v.ring.Buckets {
		used = used || s.Number > 0
	}
	switch {
	case used:
		v.fresh = instantOrNever{}
	case !v.fresh.ever:
		v.fresh.set(now)
	}
}

// MaxGeneration is the highest generation that is accepted from another replica. No shard map is rebuilt that often.
const MaxGeneration = 1 << 40

// MaxRaise is the largest accepted difference between an object's generation and the shard map's. A restored or newly created shard map
// is behind by the number of rebuilds and raises since.
const MaxRaise = 1000

// Raise requests a generation above an object's, which the shard map must have had before it was lost or restored. A generation more
// than MaxRaise above the shard map's is ignored.
func (r *Replica) Raise(generation int64) {
	if v := &r.view; generation >= v.ring.Generation && generation <= v.ring.Generation+MaxRaise {
		v.wanted = max(v.wanted, generation+1)
	}
}

// rebuilt returns a shard map without holders in a new generation.
func (r *Replica) rebuilt() ring.Ring {
	generation := max(r.view.generation, r.view.ring.Generation, r.view.wanted) + 1
	return ring.Ring{
		Settings: r.settings, Generation: generation, Rebuilt: generation, Sequence: 1,
		Buckets: make([]ring.Lock, r.settings.Buckets),
	}
}
