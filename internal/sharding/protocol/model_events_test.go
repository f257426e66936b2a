package protocol

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"time"
)

// sim is a world on virtual time: a hub, a network and processes, each with a Replica. Its seed determines all events.
type sim struct {
	setup  setup
	random *rand.Rand
	// now is the true time. No process can read it.
	now      time.Duration
	queue    events
	sequence int

	hub       *hub
	processes []*process
	network   network
	// restored is when an older shard map replaced the newest.
	restored time.Duration
	record   record
}

// setup of a run.
type setup struct {
	replicas, buckets int
	timings           Timings
	// latencies of one way to or from the hub: one of them is drawn, and then a uniform share of it. After the last
	// fault, only the first two apply.
	latencies []time.Duration
	// lag is the maximum delay of a watch, lags the share of events delayed by more than a latency.
	lag  time.Duration
	lags float64
	// loss is the share of requests that are lost before or after execution, or executed late.
	loss float64
	// drift of the clocks: 0.02 is 2%.
	drift float64
	// chaos is the duration of the faults, quiet the duration of the observation afterwards.
	chaos, quiet time.Duration
	// idle worlds have no reconciles.
	idle bool
	// hubLoses: faults revert writes that the hub had acknowledged.
	hubLoses bool
	faults   []fault
	// story receives each event, if it is not nil.
	story func(line string)
	// verbose: story also receives each request.
	verbose bool
}

func calm(replicas, buckets int) setup {
	return setup{
		replicas: replicas, buckets: buckets, timings: DefaultTimings(),
		latencies: []time.Duration{2 * time.Millisecond, 25 * time.Millisecond}, lag: 50 * time.Millisecond,
	}
}

func newSim(seed uint64, with setup) *sim {
	s := &sim{setup: with, random: rand.New(rand.NewPCG(seed, 4))}
	s.hub = &hub{sim: s, leases: map[string]StoredLease{}}
	s.record, s.restored = newRecord(with.buckets), -time.Hour
	for range with.replicas {
		s.start(s.between(0, time.Second))
	}
	for _, f := range with.faults {
		s.after(f.at, nil, func() {
			s.tell("fault: %s", f.name)
			f.do(s)
		})
	}
	s.after(with.chaos, nil, s.heal)
	return s
}

func (s *sim) tell(format string, args ...any) {
	if s.setup.story != nil {
		s.setup.story(fmt.Sprintf("%11.6f ", s.now.Seconds()) + fmt.Sprintf(format, args...))
	}
}

// event happens in the world, or in a process if it is set.
type event struct {
	at       time.Duration
	sequence int
	process  *process
	run      func()
}

type events []*event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].sequence < e[j].sequence
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(*event)) }
func (e *events) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	*e = (*e)[:last]
	return x
}

// after schedules an event d later, in a process or, without one, in the world.
func (s *sim) after(d time.Duration, p *process, run func()) {
	s.push(&event{at: s.now + max(d, 0), process: p, run: run})
}

func (s *sim) push(e *event) {
	s.sequence++
	e.sequence = s.sequence
	heap.Push(&s.queue, e)
}

// until runs the world up to a true time.
func (s *sim) until(end time.Duration) {
	for len(s.queue) > 0 && s.queue[0].at <= end {
		e := heap.Pop(&s.queue).(*event)
		s.now = e.at
		if p := e.process; p != nil {
			if p.dead {
				continue
			}
			if s.now < p.pausedUntil {
				// The event happens when the process runs again, in the same order.
				e.at = p.pausedUntil
				s.push(e)
				continue
			}
		}
		e.run()
	}
	s.now = end
}

func (s *sim) between(least, most time.Duration) time.Duration {
	if most <= least {
		return least
	}
	return least + time.Duration(s.random.Int64N(int64(most-least)))
}

func (s *sim) happens(share float64) bool { return share > 0 && s.random.Float64() < share }
