package ring

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// placement is an input of Targets.
type placement struct {
	buckets    []Lock
	candidates []Candidate
}

// anyRandom is a source of uniform draws. rapid's own draws are mostly small: too small to require a move.
func anyRandom(t *rapid.T) *rand.Rand {
	return rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
}

// anyPlacement draws candidates, some of them settled, and holders: candidates, other sessions or none. Some hold many
// more buckets than others.
func anyPlacement(random *rand.Rand, allSettled bool) placement {
	var p placement
	n := random.IntN(8)
	holders := append(make([]string, 0, 3+n), "", "dead-1", "dead-2")
	for i := range n {
		c := Candidate{Session: fmt.Sprintf("boot-%d", i), Settled: allSettled || random.IntN(2) == 0}
		p.candidates = append(p.candidates, c)
		holders = append(holders, c.Session)
	}
	random.Shuffle(len(holders), func(i, j int) { holders[i], holders[j] = holders[j], holders[i] })
	p.buckets = make([]Lock, random.IntN(60))
	skew := float64(1 + random.IntN(4))
	for b := range p.buckets {
		p.buckets[b].Holder = holders[int(math.Pow(random.Float64(), skew)*float64(len(holders)))]
	}
	return p
}

func (p placement) targets() []string { return Targets(p.buckets, p.candidates) }

// candidate returns nil if the session is not a candidate.
func (p placement) candidate(session string) *Candidate {
	i := slices.IndexFunc(p.candidates, func(c Candidate) bool { return c.Session == session })
	if i < 0 {
		return nil
	}
	return &p.candidates[i]
}

// moves counts the buckets to take from a candidate.
func (p placement) moves(targets []string) int {
	n := 0
	for b, lock := range p.buckets {
		if lock.Holder != targets[b] && p.candidate(lock.Holder) != nil {
			n++
		}
	}
	return n
}

// fewest tries all ways to assign the remainder to candidates, and returns how many buckets must be taken from
// candidates until all shares are even.
func (p placement) fewest() int {
	n := len(p.candidates)
	if n == 0 {
		return 0
	}
	best := len(p.buckets)
	for lucky := range uint(1) << n {
		if bits.OnesCount(lucky) != len(p.buckets)%n {
			continue
		}
		moves := 0
		for i, c := range p.candidates {
			moves += max(0, count(holders(p.buckets), c.Session)-len(p.buckets)/n-int(lucky>>i&1))
		}
		best = min(best, moves)
	}
	return best
}

func holders(buckets []Lock) []string {
	all := make([]string, len(buckets))
	for b, lock := range buckets {
		all[b] = lock.Holder
	}
	return all
}

func count(sessions []string, session string) int {
	n := 0
	for _, s := range sessions {
		if s == session {
			n++
		}
	}
	return n
}

// apply carries out all targets.
func apply(buckets []Lock, targets []string) []Lock {
	after := slices.Clone(buckets)
	for b, t := range targets {
		after[b].Holder = t
	}
	return after
}

func TestSharesAreEven(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyPlacement(anyRandom(t), true)
		targets := p.targets()
		if len(targets) != len(p.buckets) {
			t.Fatalf("%d targets for %d buckets", len(targets), len(p.buckets))
		}
		total := 0
		for _, c := range p.candidates {
			share := count(targets, c.Session)
			total += share
			if least := len(p.buckets) / len(p.candidates); share < least || share > least+1 {
				t.Fatalf("%s has %d of %d buckets: %v", c.Session, share, len(p.buckets), targets)
			}
		}
		if len(p.candidates) > 0 && total != len(p.buckets) {
			t.Fatalf("targets that are no candidates: %v", targets)
		}
		if len(p.candidates) == 0 && count(targets, "") != len(p.buckets) {
			t.Fatalf("there is no candidate, but there are targets: %v", targets)
		}
	})
}

func TestNoMoveIsNeedless(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyPlacement(anyRandom(t), true)
		targets := p.targets()
		if got, want := p.moves(targets), p.fewest(); got != want {
			t.Fatalf("%d moves, %d are enough: %v to %v", got, want, holders(p.buckets), targets)
		}
	})
}

// TestWhoIsNotSettledWaits: a session that is not settled gets only buckets without a holder.
func TestWhoIsNotSettledWaits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyPlacement(anyRandom(t), false)
		targets := p.targets()
		most := 0
		if n := len(p.candidates); n > 0 {
			most = (len(p.buckets) + n - 1) / n
		}
		for b, lock := range p.buckets {
			to := p.candidate(targets[b])
			if to == nil && len(p.candidates) > 0 {
				t.Fatalf("bucket %d is for %q, which is no candidate", b, targets[b])
			}
			if to != nil && !to.Settled && to.Session != lock.Holder && p.candidate(lock.Holder) != nil {
				t.Fatalf("bucket %d is moved from %s to %s, which is not settled", b, lock.Holder, to.Session)
			}
			if to != nil && to.Session != lock.Holder && count(targets, to.Session) > most {
				t.Fatalf("%s is given bucket %d and has more than its share: %v", to.Session, b, targets)
			}
		}
		if got, want := p.moves(targets), p.fewest(); got > want {
			t.Fatalf("%d moves, %d are enough: %v to %v", got, want, holders(p.buckets), targets)
		}
		// Unsettled candidates do not delay settled ones.
		for _, c := range p.candidates {
			if c.Settled && count(targets, c.Session) < len(p.buckets)/len(p.candidates) {
				t.Fatalf("%s is settled and has less than its share: %v", c.Session, targets)
			}
		}
	})
}

// TestPreferredBucketsAreKept: a candidate releases the buckets with its lowest preference.
func TestPreferredBucketsAreKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyPlacement(anyRandom(t), true)
		targets := p.targets()
		for _, c := range p.candidates {
			hash, kept, given := sessionHash(c.Session), uint64(math.MaxUint64), uint64(0)
			for b, lock := range p.buckets {
				switch {
				case lock.Holder == c.Session && targets[b] == c.Session:
					kept = min(kept, bucketWeight(hash, b))
				case lock.Holder == c.Session:
					given = max(given, bucketWeight(hash, b))
				}
			}
			if given > kept {
				t.Fatalf("%s gives up a bucket that it is preferred for more than for one that it keeps", c.Session)
			}
		}
	})
}

// TestFreeBucketsGoToThePreferred: while all candidates with room have some left, a free bucket goes to the most
// preferred of them. Moved buckets are assigned later.
func TestFreeBucketsGoToThePreferred(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyPlacement(anyRandom(t), true)
		targets := p.targets()
		var receivers []string
		sure := len(p.buckets)
		for _, c := range p.candidates {
			if room := count(targets, c.Session) - count(holders(p.buckets), c.Session); room > 0 {
				receivers = append(receivers, c.Session)
				sure = min(sure, room)
			}
		}
		for b, lock := range p.buckets {
			if p.candidate(lock.Holder) != nil || sure == 0 || len(receivers) == 0 {
				continue
			}
			sure--
			best := slices.MaxFunc(receivers, func(x, y string) int {
				return cmp.Compare(bucketWeight(sessionHash(x), b), bucketWeight(sessionHash(y), b))
			})
			if targets[b] != best {
				t.Fatalf("bucket %d is for %s, but %s is preferred: %v to %v", b, targets[b], best, holders(p.buckets), targets)
			}
		}
	})
}

func TestTargetsAreStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyPlacement(anyRandom(t), false)
		first := p.targets()
		p.buckets = apply(p.buckets, first)
		if second := p.targets(); !slices.Equal(first, second) {
			t.Fatalf("%+v\nfirst  %v\nsecond %v", p.candidates, first, second)
		}
	})
}

// TestRemainderDoesNotWander covers a corner of TestTargetsAreStable that draws rarely hit: "b" is settled and filled
// up to the same number as "x", which is not. The remainder must not move from x to b because of that.
func TestRemainderDoesNotWander(t *testing.T) {
	p := placement{candidates: []Candidate{{"a", true}, {"b", true}, {"x", false}, {"z", true}}}
	for _, h := range []string{"a", "a", "a", "a", "a", "a", "b", "x", "x", "z", "z"} {
		p.buckets = append(p.buckets, Lock{Holder: h})
	}
	first := p.targets()
	p.buckets = apply(p.buckets, first)
	if second := p.targets(); !slices.Equal(first, second) {
		t.Errorf("first %v, second %v", first, second)
	}
}

func TestOrderOfCandidatesDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := anyRandom(t)
		p := anyPlacement(random, false)
		first, leader := p.targets(), LeaderTarget("", p.candidates)
		random.Shuffle(len(p.candidates), func(i, j int) {
			p.candidates[i], p.candidates[j] = p.candidates[j], p.candidates[i]
		})
		if second := p.targets(); !slices.Equal(first, second) {
			t.Fatalf("first  %v\nsecond %v", first, second)
		}
		if second := LeaderTarget("", p.candidates); second != leader {
			t.Fatalf("leader %q, then %q", leader, second)
		}
	})
}

// TestInputIsNotChanged: callers reuse their arguments.
func TestInputIsNotChanged(t *testing.T) {
	p := placement{candidates: []Candidate{{"b", true}, {"a", false}}, buckets: []Lock{{"b", 3}, {"b", 2}, {"", 1}}}
	p.targets()
	if !slices.Equal(p.candidates, []Candidate{{"b", true}, {"a", false}}) ||
		!slices.Equal(p.buckets, []Lock{{"b", 3}, {"b", 2}, {"", 1}}) {
		t.Errorf("now %+v", p)
	}
}

func TestLeaderStays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyPlacement(anyRandom(t), false)
		current := rapid.SampledFrom([]string{"", "dead-1", "boot-0", "boot-3", "boot-6"}).Draw(t, "current")
		leader := LeaderTarget(current, p.candidates)
		switch {
		case p.candidate(current) != nil && leader != current:
			t.Fatalf("%q is a candidate, but %q should lead", current, leader)
		case len(p.candidates) == 0 && leader != "":
			t.Fatalf("%q should lead, but there is no candidate", leader)
		case len(p.candidates) > 0 && p.candidate(leader) == nil:
			t.Fatalf("%q should lead, but is no candidate", leader)
		}
	})
}
