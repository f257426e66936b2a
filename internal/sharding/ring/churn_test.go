package ring

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// settledSessions returns n settled candidates.
func settledSessions(n int) []Candidate {
	all := make([]Candidate, n)
	for i := range all {
		all[i] = Candidate{Session: fmt.Sprintf("boot-%d", i), Settled: true}
	}
	return all
}

// TestOneJoins: exactly its share moves, and all of it to the new session.
func TestOneJoins(t *testing.T) {
	for _, buckets := range []int{1, 7, 128, 1024} {
		for n := 1; n <= 20; n++ {
			p := placement{buckets: make([]Lock, buckets), candidates: settledSessions(n)}
			p.buckets = apply(p.buckets, p.targets())
			newcomer := Candidate{Session: "new"}
			p.candidates = append(p.candidates, newcomer)
			if targets := p.targets(); p.moves(targets) > 0 {
				t.Errorf("%d buckets, %d sessions: moves to one that is not settled: %v", buckets, n, targets)
			}
			p.candidates[n].Settled = true
			targets := p.targets()
			if got, want := p.moves(targets), buckets/(n+1); got != want || count(targets, "new") != want {
				t.Errorf("%d buckets, %d sessions: %d moves, %d of them to the new one, want %d",
					buckets, n, got, count(targets, "new"), want)
			}
		}
	}
}

// TestOneLeaves: only its buckets move.
func TestOneLeaves(t *testing.T) {
	for _, buckets := range []int{1, 7, 128, 1024} {
		for n := 2; n <= 20; n++ {
			p := placement{buckets: make([]Lock, buckets), candidates: settledSessions(n)}
			p.buckets = apply(p.buckets, p.targets())
			gone := p.candidates[n/2].Session
			p.candidates = slices.Delete(p.candidates, n/2, n/2+1)
			targets := p.targets()
			for b, lock := range p.buckets {
				if lock.Holder != gone && targets[b] != lock.Holder {
					t.Errorf("%d buckets, %d sessions: bucket %d goes from %s to %s, but %s has left",
						buckets, n, b, lock.Holder, targets[b], gone)
				}
			}
		}
	}
}

// TestChurn: sessions join, leave and settle. In between, targets are carried out in part or not at all. No step moves
// more buckets than necessary, and in the end all shares are even.
func TestChurn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := anyRandom(t)
		p := placement{buckets: make([]Lock, 1+random.IntN(60))}
		for started := range 30 {
			i := random.IntN(max(1, len(p.candidates)))
			switch action := random.IntN(5); {
			case action == 0 && len(p.candidates) < 7:
				p.candidates = append(p.candidates, Candidate{Session: fmt.Sprintf("boot-%d", started)})
			case action == 1 && len(p.candidates) > 0:
				p.candidates = slices.Delete(p.candidates, i, i+1)
			case action == 2 && len(p.candidates) > 0:
				p.candidates[i].Settled = true
			case action == 3:
				carryOut(random, &p, random.IntN(20))
			case action == 4:
				p.buckets = apply(p.buckets, p.targets())
			}
			if got, want := p.moves(p.targets()), p.fewest(); got > want {
				t.Fatalf("%d moves, %d are enough: %+v", got, want, p)
			}
		}
		for i := range p.candidates {
			p.candidates[i].Settled = true
		}
		want := p.fewest()
		if got := p.moves(p.targets()); got != want {
			t.Fatalf("%d moves, %d are enough: %+v", got, want, p)
		}
		p.buckets = apply(p.buckets, p.targets())
		for _, c := range p.candidates {
			if n, least := count(holders(p.buckets), c.Session), len(p.buckets)/len(p.candidates); n < least || n > least+1 {
				t.Fatalf("%s holds %d of %d buckets", c.Session, n, len(p.buckets))
			}
		}
	})
}

// carryOut makes up to limit writes as replicas do: a holder releases a bucket that has another target, a target takes
// a bucket that no candidate holds. After each write it computes the targets again. It returns how many buckets
// candidates have released.
func carryOut(random *rand.Rand, p *placement, limit int) (released int) {
	for range limit {
		targets := p.targets()
		var due []int
		for b, lock := range p.buckets {
			if lock.Holder != targets[b] {
				due = append(due, b)
			}
		}
		if len(due) == 0 {
			return released
		}
		b := due[random.IntN(len(due))]
		if p.candidate(p.buckets[b].Holder) != nil {
			p.buckets[b].Holder = ""
			released++
		} else {
			p.buckets[b].Holder = targets[b]
		}
	}
	return released
}

// TestMovesOneByOne: each write changes the largest share and the free buckets, so targets change while they are
// carried out. That must not cost an extra move, nor continue forever.
func TestMovesOneByOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := anyRandom(t)
		p := anyPlacement(random, true)
		want := p.fewest()
		// Each bucket is released and taken at most once.
		got := carryOut(random, &p, 2*len(p.buckets))
		if got != want {
			t.Fatalf("%d buckets were released, %d are enough", got, want)
		}
		if targets := p.targets(); !slices.Equal(holders(p.buckets), targets) {
			t.Fatalf("not done after two writes for each bucket: %v to %v", holders(p.buckets), targets)
		}
	})
}
