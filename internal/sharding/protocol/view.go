package protocol

import (
	"errors"
	"fmt"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/ring"
)

// view is the newest ring that the replica knows.
type view struct {
	ring    ring.Ring
	version string
	// stale: a newer one is known to exist, or a write's outcome is not known; nothing is written before the next
	// read.
	stale bool
	// unsure: a write at version may or may not have been carried out, or may still be. Only a read of another version,
	// or another write at that version, settles it.
	unsure bool
	// missing and invalid: there is no ring, or one that nobody can read.
	missing, invalid bool
	// restored: the hub holds a ring that is older than one that was seen.
	restored bool
	// fresh is since when a ring has been seen that nobody has ever taken anything from.
	fresh instantOrNever
	// highest generation and sequence ever seen, here or by another replica.
	generation, sequence int64
	// wanted is the generation that objects ask for.
	wanted int64
}

// older reports whether a ring precedes the newest that was seen.
func (v *view) older(of ring.Ring) bool {
	return of.Generation < v.generation || of.Generation == v.generation && of.Sequence < v.sequence
}

// ringRead takes the answer to a read that was sent at sent. floor is the newest ring that had been seen by then: an
// older answer means that the ring was restored from a backup.
func (r *Replica) ringRead(now, sent Instant, floor [2]int64, result Result) {
	switch result.Outcome {
	case Done:
		got := result.Ring
		r.view.missing, r.view.invalid = false, false
		if got.Ring.Generation < floor[0] || got.Ring.Generation == floor[0] && got.Ring.Sequence < floor[1] {
			// What this replica holds may be somebody else's in the restored ring, and the other way round.
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
			// A later version of this program made it. To rebuild it would set the two against each other.
			r.ringProblem = problem("the ring was made by a later version of this operator", result.Err)
			return
		}
		r.loseAll()
		r.view.missing, r.view.invalid = result.Outcome == Missing, result.Outcome == Invalid
		r.view.version, r.view.stale, r.view.unsure = result.Ring.Version, false, false
		r.ringProblem = problem("the ring is "+map[Outcome]string{Missing: "missing", Invalid: "damaged"}[result.Outcome]+" and is being rebuilt", result.Err)
	default:
		// A hub that is away for a while is no problem of this replica's.
		if result.Outcome == Refused {
			r.ringProblem = problem("the ring cannot be read", result.Err)
		}
		return
	}
	r.due[laneVerify] = sent.Mono + r.cfg.Timings.Renew
}

// SawRing takes a ring from a watch. It may be old news.
func (r *Replica) SawRing(now Instant, stored StoredRing) {
	if !r.view.older(stored.Ring) && !r.view.missing {
		r.sawRing(now, stored, false)
	}
}

// RingGone takes the news that there is no ring, or none that can be read; the hub is asked at once.
func (r *Replica) RingGone() { r.verifySoon() }

// verifySoon asks the hub for the ring at once. An answer that is on its way already may be older than what raised the question.
func (r *Replica) verifySoon() {
	r.due[laneVerify] = 0
	r.verifyAgain = r.flights[laneVerify] != nil
}

// sawRing takes the newest ring that is known. A read settles what became of a write.
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
		r.ringProblem = fmt.Sprintf("the ring has %d buckets (hash %s, validity %s, patience %s), but this replica is configured with %d (hash %s, validity %s, patience %s); "+
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
		v.fresh = instantOrNever{} // of the former ring
	}
	r.noteFresh(now)
	r.noteClaims(before)
	r.keep(&r.leader, v.ring.Leader)
	for b := range r.locks {
		r.keep(&r.locks[b], v.ring.Buckets[b])
	}
	r.expectHolders(now)
}

// remember takes the newest ring that another replica has seen. If the ring is still what this one knows, it was
// restored: the next read tells.
func (r *Replica) remember(generation, sequence int64) {
	if generation > MaxGeneration || sequence > 1<<60 {
		return
	}
	if v := &r.view; generation > v.generation || generation == v.generation && sequence > v.sequence {
		v.generation, v.sequence = generation, sequence
		r.verifySoon()
	}
}

// keep takes a lock away if the ring says that it is not held any more.
func (r *Replica) keep(s *lock, in ring.Lock) {
	if s.held && (in.Holder != r.session.name || in.Number != s.number) {
		r.lose(s)
	}
}

// noteFresh begins or ends the wait after a ring was made.
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

// MaxGeneration is the highest generation of a ring that another replica says it has seen and that is believed. No ring is rebuilt that
// often.
const MaxGeneration = 1 << 40

// MaxRaise is how far above the ring's generation an object's may be to be believed. A ring that was restored, or made anew,
// is behind by as many generations as there were rebuilds and raises since.
const MaxRaise = 1000

// Raise asks for a generation above one that an object shows, which the ring must have had before it was lost or
// restored. One that is more than MaxRaise above the ring's is ignored.
func (r *Replica) Raise(generation int64) {
	if v := &r.view; generation >= v.ring.Generation && generation <= v.ring.Generation+MaxRaise {
		v.wanted = max(v.wanted, generation+1)
	}
}

// rebuilt returns a ring without holders in a new generation.
func (r *Replica) rebuilt() ring.Ring {
	generation := max(r.view.generation, r.view.ring.Generation, r.view.wanted) + 1
	return ring.Ring{
		Settings: r.settings, Generation: generation, Rebuilt: generation, Sequence: 1,
		Buckets: make([]ring.Lock, r.settings.Buckets),
	}
}
