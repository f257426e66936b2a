package protocol

import "time"

// Unowned returns the buckets that no live session holds, with the time for which this replica has seen that. While it
// cannot determine that, because it is not valid itself, it returns none.
func (r *Replica) Unowned(now Instant) map[int]time.Duration {
	unowned := map[int]time.Duration{}
	if !r.listed || !r.Valid(now) {
		return unowned
	}
	for b, in := range r.view.ring.Buckets {
		if b >= len(r.locks) || in.Holder == r.session.name && r.locks[b].held {
			continue
		}
		p := r.peers[in.Holder]
		switch {
		case in.Holder == "" || in.Holder == r.session.name || p != nil && p.fenced.ever:
			if free := r.locks[b].free; free.ever {
				unowned[b] = now.Since(free.Instant)
			} else {
				unowned[b] = 0
			}
		case p != nil && r.silent(now, p) >= r.patience(p):
			unowned[b] = r.silent(now, p)
		}
	}
	return unowned
}

// Status is the state for metrics.
type Status struct {
	State                State
	Held, Unowned        int
	LongestUnowned       time.Duration
	Generation, Sequence int64
	Left                 time.Duration
	Leading              bool
	Sessions             int
	Tokens               int
}

// Status returns the state of the replica.
func (r *Replica) Status(now Instant) Status {
	s := Status{
		State: r.state, Held: r.Held(), Left: r.Left(now), Leading: r.Leading(now), Sessions: len(r.Peers()),
		Generation: r.view.ring.Generation, Sequence: r.view.ring.Sequence,
	}
	for _, d := range r.Unowned(now) {
		s.Unowned++
		s.LongestUnowned = max(s.LongestUnowned, d)
	}
	for b := range r.locks {
		s.Tokens += r.locks[b].tokens
	}
	return s
}
