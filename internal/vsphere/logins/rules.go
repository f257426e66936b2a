package logins

import (
	"slices"
	"time"
)

const (
	// window and most limit the rejections of an account, over all user names and passwords.
	window = 15 * time.Minute
	most   = 4
	// strikes is the maximum number of rejections of one pair of user name and password.
	strikes = 3
	// fresh is how long after an accepted login others can follow without waiting for each other. If a password changes within this time, it can cost as many
	// rejections as there are sessions.
	fresh = 10 * time.Second
	// claimed is the longest duration of a try. If a try did not end by then, its process has ended.
	claimed = 30 * time.Second
	// skew is the maximum difference between the clocks of two replicas. No replica wrote a time that is further ahead.
	skew = time.Minute
	// mostPairs is the maximum number of remembered pairs of an account, the newest ones.
	mostPairs = 8
)

// delays are the pauses after the first and second rejection of a pair. The first is short, because a starting vCenter rejects every login for a minute, until
// its single sign-on works.
var delays = [strikes - 1]time.Duration{2 * time.Minute, 15 * time.Minute}

// Account is the known state of the logins of one account at one server.
type Account struct {
	// Pairs are the tried user names and passwords, the newest last.
	Pairs []Pair `json:"pairs,omitempty"`
	// Rejected are the times of the last rejections of all pairs.
	Rejected []time.Time `json:"rejected,omitempty"`
	// Claim is the try in progress.
	Claim *Claim `json:"claim,omitempty"`
}

// Pair is a user name and a password.
type Pair struct {
	// ID distinguishes pairs without revealing them.
	ID string `json:"id"`
	// Accepted is the time of the last acceptance, or zero if a rejection followed.
	Accepted time.Time `json:"accepted,omitzero"`
	// Rejections since the last acceptance, with the times of the first and last one.
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

// step is the next step of a replica that must log in.
type step int

const (
	// follow: log in without a claim.
	follow step = iota
	// claim: store a claim, and log in.
	claim
	// wait: another login is in progress.
	wait
	// hold: do not log in before a time, or never.
	hold
)

// decide returns the step for a login with a pair. For hold, next is the time of the next try, or zero for never. The account must be settled. room is the
// maximum number of its rejections within the window.
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

// roomAt returns the time from which one more rejection is permitted. While another pair works, the last permitted rejection of the account is reserved for
// that pair.
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

// settled drops expired data, and ends a claim that timed out or whose process is dead. The result of that claim is unknown. For a pair that worked before, it
// counts as no rejection, because lost replies are more frequent than changed passwords. For another pair, it counts as a rejection of the account, but not of
// the pair.
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

// Outcome is the result of a login.
type Outcome int

// Outcomes.
const (
	// Accepted by vCenter.
	Accepted Outcome = iota
	// Rejected by vCenter, for its user name or its password.
	Rejected
	// Failed for another reason, which proves nothing about the password.
	Failed
	// Unanswered: it is unknown whether vCenter rejected the login.
	Unanswered
)

// ended stores the result of a login and ends its claim.
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
		if p.Rejections == 0 || c.At.After(p.Last) { // concurrent tries count as one
			p.Rejections++
		}
		p.Accepted, p.Last = time.Time{}, now
		return a.with(p).rejectedAt(now)
	case o == Unanswered && !p.proven():
		return a.rejectedAt(c.At)
	}
	return a
}

// merge adds the knowledge of this process to the stored account, because a user can have removed or restored the stored one. The newest state of each pair
// counts.
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

// newest returns the time of the last result.
func (p Pair) newest() time.Time {
	if p.Last.After(p.Accepted) {
		return p.Last
	}
	return p.Accepted
}
