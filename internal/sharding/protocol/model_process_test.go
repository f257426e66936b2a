package protocol

import (
	"fmt"
	"time"
)

// process is one run of an operator process.
type process struct {
	sim     *sim
	name    string
	replica *Replica
	born    time.Duration
	// rate of its monotonic clock; the wall clock has the same rate. frozen is the time that the monotonic clock
	// lost to suspensions, jumped the change of the wall clock.
	rate           float64
	frozen, jumped time.Duration
	lastJump       time.Duration

	dead     bool
	draining bool
	// Until these true times the process does not run, does not reach the hub, gets no watch events, gets no lists.
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

// clock is the current time of the process's clocks.
func (p *process) clock() Instant {
	passed := time.Duration(float64(p.sim.now-p.born) * p.rate)
	return Instant{Mono: time.Hour + passed - p.frozen, Wall: epochOfWalls.Add(passed + p.jumped)}
}

// later is the true duration of a time on its clocks.
func (p *process) later(d time.Duration) time.Duration {
	return max(time.Duration(float64(d)/p.rate)+time.Microsecond, time.Microsecond)
}

// step does the same as the wiring after each event: it ends calls that lost their right, then sends due requests.
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

// pause stops the process for some time; requests that it sent continue.
func (p *process) pause(d time.Duration) {
	s := p.sim
	d, now := s.rest(d), p.clock()
	for _, c := range p.calls {
		c.paused(s.now+p.later(p.replica.Left(now)), s.now)
	}
	p.pausedUntil = max(p.pausedUntil, s.now+d)
}

// suspend stops the process and its monotonic clock; also the wall clock if both is set.
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

// kill ends the process without notice.
func (p *process) kill() {
	for _, c := range p.calls {
		c.ended = min(p.sim.now, c.limitOr(p.sim.now))
	}
	p.dead = true
}

// drain is a graceful shutdown.
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
