package ring

import (
	"cmp"
	"slices"
)

// Candidate is a session that can hold buckets.
type Candidate struct {
	// Session is its name. It is not empty, and unique among candidates.
	Session string
	// Settled is true if it has been ready for long enough that buckets can be moved to it from another live holder.
	Settled bool
}

// Targets returns for each bucket the candidate that should hold it, "" without candidates. A target other than the
// present holder is a move: the holder gives the bucket up, or it has none, and then the target takes it. See the
// package's documentation for the rules that hold for any input.
//
// Candidates keep what they hold, up to their share. Unheld buckets, and then the surplus of holders, go to candidates
// that hold less than their share.
func Targets(buckets []Lock, candidates []Candidate) []string {
	targets := make([]string, len(buckets))
	shares, unheld := divide(buckets, candidates)
	if len(shares) == 0 {
		return targets
	}
	setQuotas(shares, len(buckets))

	var surplus []int
	for _, s := range shares {
		kept, given := s.split()
		for _, b := range kept {
			targets[b] = s.session
		}
		surplus = append(surplus, given...)
	}
	slices.Sort(surplus)

	for _, b := range unheld {
		targets[b] = receiver(shares, b).session
	}
	for _, b := range surplus {
		// The room of a candidate that is not settled is reserved for it. Until then, the bucket stays with its holder.
		targets[b] = buckets[b].Holder
		if to := receiver(shares, b); to.settled {
			targets[b] = to.session
		}
	}
	return targets
}

// LeaderTarget returns the candidate that should hold the leader's lock, "" without candidates. current holds it now,
// and keeps it as long as it is a candidate: a move has no benefit.
func LeaderTarget(current string, candidates []Candidate) string {
	best, most := "", uint64(0)
	for _, c := range candidates {
		if c.Session == current {
			return current
		}
		w := leaderWeight(sessionHash(c.Session))
		if best == "" || w > most || w == most && c.Session < best {
			best, most = c.Session, w
		}
	}
	return best
}

// share is what one candidate holds and should hold.
type share struct {
	session string
	settled bool
	hash    uint64
	// held are the buckets that it holds, in ascending order.
	held []int
	// quota is the number of buckets that it should hold.
	quota int
	// room is how many buckets it can still be given.
	room int
}

// divide returns the candidates' shares by name, without quotas, and the buckets that none of them holds.
func divide(buckets []Lock, candidates []Candidate) (shares []*share, unheld []int) {
	shares = make([]*share, 0, len(candidates))
	bySession := make(map[string]*share, len(candidates))
	for _, c := range candidates {
		s := &share{session: c.Session, settled: c.Settled, hash: sessionHash(c.Session)}
		shares = append(shares, s)
		bySession[c.Session] = s
	}
	slices.SortFunc(shares, func(a, b *share) int { return cmp.Compare(a.session, b.session) })
	for b, lock := range buckets {
		if s := bySession[lock.Holder]; s != nil {
			s.held = append(s.held, b)
		} else {
			unheld = append(unheld, b)
		}
	}
	return shares, unheld
}

// setQuotas divides the buckets evenly. The remainder goes to candidates that then release fewer buckets.
func setQuotas(shares []*share, buckets int) {
	base, extra := buckets/len(shares), buckets%len(shares)
	order := slices.Clone(shares)
	slices.SortStableFunc(order, func(a, b *share) int {
		if max(len(a.held), len(b.held)) <= base {
			// An extra bucket must be moved to any receiver. A candidate that is not settled would have to wait for
			// it, and lose it to one that was filled up to base in that time.
			return cmp.Or(settledFirst(a, b), cmp.Compare(len(b.held), len(a.held)))
		}
		return cmp.Compare(len(b.held), len(a.held))
	})
	for i, s := range order {
		s.quota = base
		if i < extra {
			s.quota++
		}
		s.room = max(s.quota-len(s.held), 0)
	}
}

func settledFirst(a, b *share) int {
	switch {
	case a.settled == b.settled:
		return 0
	case a.settled:
		return -1
	}
	return 1
}

// split returns the buckets that the candidate keeps and its surplus. It keeps those for which it has the highest
// preference: these would be given to it again.
func (s *share) split() (kept, given []int) {
	if len(s.held) <= s.quota {
		return s.held, nil
	}
	order := slices.Clone(s.held)
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(bucketWeight(s.hash, b), bucketWeight(s.hash, a))
	})
	return order[:s.quota], order[s.quota:]
}

// receiver takes a place from the candidate with room that has the highest preference for the bucket. There is always
// room: the quotas add up to the number of buckets.
func receiver(shares []*share, bucket int) *share {
	var best *share
	var most uint64
	for _, s := range shares {
		if s.room == 0 {
			continue
		}
		if w := bucketWeight(s.hash, bucket); best == nil || w > most {
			best, most = s, w
		}
	}
	best.room--
	return best
}
