package protocol

import (
	"fmt"
	"time"
)

// process is one life of an operator's process.
type process struct {
	sim     *sim
	name    string
	replica *Replica
	born    time.Duration
	// rate of its monotonic clock; the wall clock goes at the same rate. frozen is what suspensions took from the
	// monotonic clock, and jumped how far the wall clock was set.
	rate           float64
	frozen, jumped time.Duration
	lastJump       time.Duration

	dead     bool
	draining bool
	// Until these true times it does not run, does not reach the hub, gets no events of watches, gets no lists either.
	pausedUntil, cutUntil, stalledUntil, deafUntil time.Duration

	streams  [kinds]stream
	wakes    int
	calls    []*call
	requests int
}

var epochOfWalls = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// start begins a process some time from now.
func (s *sim) start(in time.Duration) *process {
	p := &process{sim: s, name: fmt.Sprintf("p%d", len(s.processes)), born: s.now, rate: 1 + s.setup.drift*(2*s.random.Float64()-1)}
	p.jumped, p.lastJump = s.between(0, time.Hour), -time.Hour
	sessions := 0
	p.replica = New(Config{
		Timings: s.setup.timings, Buckets: s.setup.buckets, Hash: "h", Boot: p.name, Host: "host-" + p.name,
		NewSession: func() string {
			sessions++
			name := fmt.Sprintf("%s.%d", p.name, sessions)
			s.record.sessions[name] = p
			return name
		},
		Random: s.random.Float64,
	})
	for k := range p.streams {
		p.streams[k] = stream{process: p, kind: kind(k)}
	}
	s.processes = append(s.processes, p)
	s.after(in, p, func() {
		p.step()
		p.streams[leaseKind].list()
		p.streams[ringKind].list()
	})
	s.after(in+s.between(0, 3*time.Second), p, func() {
		p.replica.Ready()
		p.step()
	})
	if !s.setup.idle {
		for range 2 {
			s.after(in+s.between(0, time.Second), p, p.reconcile)
		}
	}
	return p
}

// clock is what the process reads now.
func (p *process) clock() Instant {
	passed := time.Duration(float64(p.sim.now-p.born) * p.rate)
	return Instant{Mono: time.Hour + passed - p.frozen, Wall: epochOfWalls.Add(passed + p.jumped)}
}

// later is how long a time on its clocks is in truth.
func (p *process) later(d time.Duration) time.Duration {
	return max(time.Duration(float64(d)/p.rate)+time.Microsecond, time.Microsecond)
}

// step does what the wiring does after each event: it ends calls that may not go on, and then sends what is due.
func (p *process) step() {
	now := p.clock()
	requests, wake := p.replica.Next(now)
	p.endDead()
	changes := p.replica.Take()
	for _, request := range requests {
		p.send(request)
	}
	if changes.Relist {
		p.streams[leaseKind].list()
		p.streams[ringKind].list()
	}
	if p.draining && p.replica.Drained() {
		p.dead = true
		return
	}
	p.wakes++
	mine := p.wakes
	p.sim.after(p.later(wake-now.Mono), p, func() {
		if mine == p.wakes {
			p.step()
		}
	})
}

// pause stops the process for some time; what it has sent goes on.
func (p *process) pause(d time.Duration) {
	s := p.sim
	d, now := s.rest(d), p.clock()
	for _, c := range p.calls {
		c.paused(s.now+p.later(p.replica.Left(now)), s.now)
	}
	p.pausedUntil = max(p.pausedUntil, s.now+d)
}

// suspend stops the process and its monotonic clock; with the wall clock as well if both.
func (p *process) suspend(d time.Duration, both bool) {
	d = p.sim.rest(d)
	p.pause(d)
	p.sim.after(d, nil, func() {
		p.frozen += time.Duration(float64(d) * p.rate)
		if both {
			p.jumped -= time.Duration(float64(d) * p.rate)
		}
	})
}

// kill ends the process without a word.
func (p *process) kill() {
	for _, c := range p.calls {
		c.ended = min(p.sim.now, c.limitOr(p.sim.now))
	}
	p.dead = true
}

// drain is a graceful stop.
func (p *process) drain() {
	p.draining = true
	p.replica.Drain()
	p.step()
	t := p.sim.setup.timings
	p.sim.after(p.later(t.Drain), p, func() {
		if !p.dead {
			p.sim.record.aborted++
			p.kill()
		}
	})
}
