package protocol

import (
	"flag"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var runs = flag.Int("protocol.runs", 100, "histories of the sharding protocol that the model tries")

// totals of many runs.
type totals struct {
	calls, takeovers, fences, late, refused, zombies, lateCalls atomic.Int64
}

// try runs one history and returns the violations.
func try(seed uint64, sum *totals, story func(string)) (problems []string) {
	draw := &sim{random: rand.New(rand.NewPCG(seed, 3))}
	w := randomSetup(draw, seed%3 == 0)
	w.story, w.verbose = story, *verbose
	s := newSim(seed, w)
	t := w.timings
	// A bucket that moves has no holder for a moment.
	const moment = 500 * time.Millisecond
	s.until(w.chaos + t.Patience + t.Settle + 5*time.Second)
	var unowned []string
	for range 4 {
		s.until(s.now + moment)
		if unowned = s.owned(); unowned == nil {
			break
		}
	}
	problems = append(problems, unowned...)
	end := w.chaos + w.quiet
	s.until(end)
	problems = append(problems, s.owned()...)
	problems = append(problems, s.record.violations...)
	problems = append(problems, s.record.overlaps()...)
	problems = append(problems, s.quiet(end)...)
	if !w.hubLoses && s.record.refused > 0 {
		problems = append(problems, "objects showed a later epoch, though the hub lost nothing")
	}
	if seed%4 == 0 && !s.record.linearizable(end) {
		problems = append(problems, "the calls are not those of a lock")
	}
	if sum != nil {
		sum.add(&s.record)
	}
	return problems
}

func (t *totals) add(r *record) {
	for _, calls := range r.calls {
		t.calls.Add(int64(len(calls)))
		for _, c := range calls {
			if c.late {
				t.lateCalls.Add(1)
			}
		}
	}
	t.takeovers.Add(int64(r.moves))
	t.fences.Add(int64(len(r.fences)))
	t.late.Add(int64(r.late))
	t.refused.Add(int64(r.refused))
	t.zombies.Add(int64(r.zombies))
}

// each calls f with all seeds, with one goroutine for each processor.
func each(seeds int, f func(seed uint64)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for seed := next.Add(1); seed <= int64(seeds); seed = next.Add(1) {
				f(uint64(seed))
			}
		})
	}
	all.Wait()
}

// TestNoTwoReplicasEverActOnOneBucket runs random histories full of faults.
func TestNoTwoReplicasEverActOnOneBucket(t *testing.T) {
	var sum totals
	each(*runs, func(seed uint64) {
		for i, problem := range try(seed, &sum, nil) {
			if i < 5 {
				t.Errorf("seed %d: %s", seed, problem)
			}
		}
	})
	if *runs >= 200 && min(sum.fences.Load(), sum.late.Load(), sum.zombies.Load(), sum.calls.Load()/100, sum.takeovers.Load()) < int64(*runs)/10 {
		t.Error("too little happened to say anything")
	}
	t.Logf("%d runs: %d calls, %d takeovers, %d fences, %d requests carried out late, %d reconciles refused by what objects show; "+
		"calls that a pause kept open: %d, that a pause made late: %d", *runs, sum.calls.Load(), sum.takeovers.Load(), sum.fences.Load(),
		sum.late.Load(), sum.refused.Load(), sum.zombies.Load(), sum.lateCalls.Load())
}

var (
	story   = flag.Uint64("protocol.story", 1, "the seed of a history to tell")
	verbose = flag.Bool("protocol.verbose", false, "tell each request as well")
)

// TestTellOneHistory prints the events of one seed's history, to debug a failure.
func TestTellOneHistory(t *testing.T) {
	lines := 0
	problems := try(*story, nil, func(line string) {
		lines++
		t.Log(line)
	})
	for _, problem := range problems {
		t.Error(problem)
	}
	if lines == 0 {
		t.Error("the history is empty")
	}
}
