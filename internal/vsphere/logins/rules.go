package logins

import (
	"slices"
	"time"
)

const (
	// window and most bound the rejections of an account, whichever user names and passwords they are of.
	window = 15 * time.Minute
	most   = 4
	// strikes is how often one pair of user name and password may be rejected.
	strikes = 3
	// fresh is how long an accepted login lets others follow without waiting for each other. A password that changes within this time costs as many rejections as there are sessions.
	fresh = 10 * time.Second
	// claimed is the longest duration of a try. The process of a try that did not end by then has ended.
	claimed = 30 * time.Second
	// skew is how far the clocks of two replicas may be apart. A moment that is further ahead was not written by a replica.
	skew = time.Minute
	// mostPairs is how many pairs of an account are remembered, the newest ones.
	mostPairs = 8
)

// delays are those after the first and the second rejection of a pair. The first is short, because a vCenter that starts rejects everybody for a minute, until its single sign-on works.
var delays = [strikes - 1]time.Duration{2 * time.Minute, 15 * time.Minute}

// Account is what is known of the logins of one account at one server.
type Account struct {
	// Pairs are user names and passwords that were tried, the newest last.
	Pairs []Pair `json:"pairs,omitempty"`
	// Rejected are the moments of the last rejections, whichever pairs they are of.
	Rejected []time.Time `json:"rejected,omitempty"`
	// Claim is the try that is under way.
	Claim *Claim `json:"claim,omitempty"`
}

// Pair is a user name and a password.
type Pair struct {
	// ID tells pairs apart without showing them.
	ID string `json:"id"`
	// Accepted is when vCenter accepted it last; zero if it has rejected it since.
	Accepted time.Time `json:"accepted,omitzero"`
	// Rejections since the last acceptance, with the first and the last of them.
	Rejections int       `json:"rejections,omitempty"`
	First      time.Time `json:"first,omitzero"`
	Last       time.Time `json:"last,omitzero"`
}

// Claim is a try that a process has begun.
type Claim struct {
	Pair string    `json:"pair"`
	By   string    `json:"by"`
	At   time.Time `json:"at"`
}

func (c Claim) same(other Claim) bool {
	return c.Pair == other.Pair && c.By == other.By && c.At.Equal(other.At)
}

// step is what a replica that has to log in does now.
type step int

const (
	// follow: log in without a claim.
	follow step = iota
	// claim: write a claim, and log in.
	claim
	// wait: another login is under way.
	wait
	// hold: no login before a moment, or never.
	hold
)

// decide says what to do about a login with a pair. next is the moment before which nobody tries, zero for never. The account must be settled. room is how many
// rejections it may have within the window.
func decide(a Account, pair string, now time.Time, room int) (do step, next time.Time) {
	p := a.pair(pair)
	switch age := now.Sub(p.Accepted); {
	case p.proven() && age >= -skew && age < fresh:
		return follow, time.Time{}
	case a.Claim != nil:
		return wait, time.Time{}
	case p.Rejections >= strikes:
		return hold, time.Time{}
	}
	if p.Rejections > 0 {
		next = p.Last.Add(delays[p.Rejections-1])
	}
	if after := a.roomAt(p, room); after.After(next) {
		next = after
	}
	if now.Before(next) {
		return hold, next
	}
	return claim, time.Time{}
}

// roomAt is the moment from which on one more rejection would not be one too many. While another pair works, the last rejection that an account may have is kept for that one.
func (a Account) roomAt(p Pair, room int) time.Time {
	if room > 1 && !p.proven() && slices.ContainsFunc(a.Pairs, Pair.proven) {
		room--
	}
	if len(a.Rejected) < room {
		return time.Time{}
	}
	return a.Rejected[len(a.Rejected)-room].Add(window)
}

// proven reports whether vCenter accepted the pair at its last try.
func (p Pair) proven() bool { return !p.Accepted.IsZero() }

func (a Account) pair(id string) Pair {
	if i := slices.IndexFunc(a.Pairs, func(p Pair) bool { return p.ID == id }); i >= 0 {
		return a.Pairs[i]
	}
	return Pair{ID: id}
}

// with returns the account with a pair as the newest one.
func (a Account) with(p Pair) Account {
	a.Pairs = slices.DeleteFunc(slices.Clone(a.Pairs), func(other Pair) bool { return other.ID == p.ID })
	a.Pairs = append(a.Pairs, p)
	a.Pairs = a.Pairs[max(0, len(a.Pairs)-mostPairs):]
	return a
}

// rejectedAt adds a rejection of the account.
func (a Account) rejectedAt(at time.Time) Account {
	a.Rejected = append(slices.Clone(a.Rejected), at)
	slices.SortFunc(a.Rejected, time.Time.Compare)
	return a
}

// settled drops what does not count any more, and ends a claim that has had its time or whose process is dead. Its outcome is not known: for a pair that worked before it is taken for no
// rejection, since replies are lost more often than passwords are changed, and for another one it is taken for a rejection of the account, though not of the pair.
func (a Account) settled(now time.Time, dead bool) Account {
	if c := a.Claim; c != nil && (dead || now.Sub(c.At) >= claimed || c.At.Sub(now) > skew) {
		a = a.ended(*c, Unanswered, now)
	}
	a.Rejected = slices.DeleteFunc(slices.Clone(a.Rejected), func(at time.Time) bool { return now.Sub(at) >= window || at.Sub(now) > skew })
	a.Pairs = slices.Clone(a.Pairs)
	for i := range a.Pairs {
		if a.Pairs[i].Last.Sub(now) > skew {
			a.Pairs[i].Last = now
		}
		if a.Pairs[i].Accepted.Sub(now) > skew {
			a.Pairs[i].Accepted = now.Add(-fresh)
		}
	}
	return a
}

// Outcome of a login.
type Outcome int

// Outcomes.
const (
	// Accepted by vCenter.
	Accepted Outcome = iota
	// Rejected by vCenter, for its user name or its password.
	Rejected
	// Failed for another reason, which says nothing of the password.
	Failed
	// Unanswered: it is not known whether vCenter has rejected it.
	Unanswered
)

// ended notes the outcome of a login, which ends its claim.
func (a Account) ended(c Claim, o Outcome, now time.Time) Account {
	if a.Claim != nil && a.Claim.same(c) {
		a.Claim = nil
	}
	p := a.pair(c.Pair)
	switch {
	case o == Accepted:
		return a.with(Pair{ID: c.Pair, Accepted: now})
	case o == Rejected:
		if p.Rejections == 0 {
			p.First = now
		}
		if p.Rejections == 0 || c.At.After(p.Last) { // those that were under way at the same time are one try
			p.Rejections++
		}
		p.Accepted, p.Last = time.Time{}, now
		return a.with(p).rejectedAt(now)
	case o == Unanswered && !p.proven():
		return a.rejectedAt(c.At)
	}
	return a
}

// merge adds what this process knows and the stored account does not: somebody may have removed or restored what was stored. Of each pair the newest word counts.
func (a Account) merge(known Account) Account {
	for _, p := range known.Pairs {
		if stored := a.pair(p.ID); p.newest().After(stored.newest()) {
			a = a.with(p)
		}
	}
	for _, at := range known.Rejected {
		if !slices.ContainsFunc(a.Rejected, at.Equal) {
			a = a.rejectedAt(at)
		}
	}
	return a
}

// newest is the moment of the last outcome.
func (p Pair) newest() time.Time {
	if p.Last.After(p.Accepted) {
		return p.Last
	}
	return p.Accepted
}
