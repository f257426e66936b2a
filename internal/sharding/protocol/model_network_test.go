package protocol

import (
	"maps"
	"slices"
	"time"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// latency of one way.
func (s *sim) latency() time.Duration {
	most := s.setup.latencies
	if s.now >= s.setup.chaos {
		most = most[:2]
	}
	return s.between(time.Millisecond, most[s.random.IntN(len(most))])
}

// cut reports whether a process cannot reach the hub.
func (p *process) cut() bool { return p.sim.now < max(p.cutUntil, p.sim.network.downUntil) }

// exchange delivers a request to the hub and its response back, or loses one of them. carry runs at the hub. The
// response can arrive long after the process canceled the request; a request can be executed even later, or never.
func (p *process) exchange(carry func() (answer func())) {
	s := p.sim
	out, late := s.latency(), false
	switch {
	case p.cut():
		if s.happens(0.7) {
			return
		}
		// The request waits in the sender's kernel until the connection recovers.
		out += max(p.cutUntil, s.network.downUntil) - s.now
		late = true
	case s.now < s.setup.chaos && s.happens(s.setup.loss):
		switch s.random.IntN(3) {
		case 0:
			return
		case 1:
			s.after(out, nil, func() { carry() })
			return
		}
		out += s.between(time.Second, 25*time.Second)
		late = true
	}
	if late && s.now+out > s.setup.chaos {
		return // after the last fault no effect remains
	}
	s.after(out, nil, func() {
		if p.cut() && !late {
			return
		}
		if late {
			s.record.late++
		}
		answer := carry()
		back := s.latency()
		if s.now < s.network.slowUntil {
			back += slow
		}
		s.after(back, nil, func() {
			if !p.cut() {
				s.after(0, p, answer)
			}
		})
	})
}

// send executes a request of the replica.
func (p *process) send(request Request) {
	s := p.sim
	p.requests++
	if s.setup.verbose {
		s.tell("  %s sends %T", p.name, request.Op)
	}
	answered := false
	answer := func(result Result) {
		if answered {
			return
		}
		answered = true
		p.replica.Complete(p.clock(), request.Lane, result)
		p.step()
	}
	p.exchange(func() func() {
		result := s.hub.do(request.Op)
		return func() { answer(result) }
	})
	s.after(p.later(request.Timeout), p, func() { answer(Result{Outcome: Unknown}) })
}

// stream is how a process observes one kind: it lists, then watches until the next list is due.
type stream struct {
	process *process
	kind    kind
	// round counts the lists; events of an earlier round are dropped.
	round int
	open  bool
	// again: another list was requested during a list.
	listing, again bool
	// cursor is the next undelivered event of the hub's log.
	cursor int
	// last is the time of the last delivery; none is earlier.
	last time.Duration
}

const (
	relistEvery = 10 * time.Second
	listTimeout = 5 * time.Second
)

// list begins a round.
func (w *stream) list() {
	if w.listing {
		w.again = true
		return
	}
	p, s := w.process, w.process.sim
	w.round++
	w.open, w.listing, w.again = false, true, false
	round := w.round
	current := func() bool { return w.round == round && w.listing }
	p.exchange(func() func() {
		all := s.hub.list(w.kind)
		return func() {
			if current() && s.now >= p.deafUntil {
				w.listed(all)
			}
		}
	})
	s.after(p.later(listTimeout), p, func() {
		if current() {
			w.breakOff()
		}
	})
}

// breakOff ends a round; another one begins soon.
func (w *stream) breakOff() {
	p, s := w.process, w.process.sim
	w.round++
	w.open, w.listing = false, false
	round := w.round
	s.after(s.between(100*time.Millisecond, 2*time.Second), p, func() {
		if w.round == round {
			w.list()
		}
	})
}

func (w *stream) listed(all list) {
	p, s := w.process, w.process.sim
	w.listing, w.open, w.cursor, w.last = false, true, all.cursor, s.now
	if w.kind == leaseKind {
		p.replica.SawLeases(p.clock(), all.leases)
	} else {
		w.sawRing(all.ring)
	}
	p.step()
	if w.again {
		w.list()
		return
	}
	if w.cursor < len(s.hub.log[w.kind]) {
		w.follow()
	}
	round := w.round
	s.after(p.later(relistEvery), p, func() {
		if w.round == round {
			w.list()
		}
	})
}

func (w *stream) sawRing(stored *StoredRing) {
	p := w.process
	if stored == nil {
		p.replica.RingGone()
	} else {
		p.replica.SawRing(p.clock(), *stored)
	}
}

// follow delivers the events so far, after a delay.
func (w *stream) follow() {
	if !w.open {
		return
	}
	s := w.process.sim
	lag := s.latency()
	if s.now < s.setup.chaos && s.happens(s.setup.lags) {
		lag = s.between(0, s.setup.lag)
	}
	w.last = max(w.last, s.now+lag)
	w.deliver(w.last-s.now, w.round, len(s.hub.log[w.kind]))
}

func (w *stream) deliver(in time.Duration, round, upTo int) {
	p, s := w.process, w.process.sim
	s.after(in, p, func() {
		if w.round != round {
			return
		}
		if still := max(p.stalledUntil, p.cutUntil, s.network.downUntil); s.now < still {
			w.last = max(w.last, still)
			w.deliver(still-s.now, round, upTo)
			return
		}
		for ; w.round == round && w.cursor < upTo; w.cursor++ {
			switch c := s.hub.log[w.kind][w.cursor]; {
			case w.kind == ringKind:
				w.sawRing(c.ring)
			case c.gone:
				p.replica.LeaseGone(p.clock(), c.lease.Session)
			default:
				p.replica.SawLease(p.clock(), c.lease)
			}
			p.step()
		}
	})
}
