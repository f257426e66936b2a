package protocol

import "time"

// fault happens at a true time.
type fault struct {
	at   time.Duration
	name string
	do   func(s *sim)
}

// rest caps a duration at the end of the chaos.
func (s *sim) rest(d time.Duration) time.Duration { return max(min(d, s.setup.chaos-s.now), 0) }

// heal runs after the last fault.
func (s *sim) heal() {
	s.record.healed = s.now
	s.record.requests = map[*process]int{}
	for _, p := range s.processes {
		s.record.requests[p] = p.requests
	}
}

// anybody returns a live process that is not stopping, or nil.
func (s *sim) anybody() *process {
	var all []*process
	for _, p := range s.processes {
		if !p.dead && !p.draining {
			all = append(all, p)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[s.random.IntN(len(all))]
}

// with applies a fault to any live process.
func with(do func(s *sim, p *process)) func(s *sim) {
	return func(s *sim) {
		if p := s.anybody(); p != nil {
			s.tell("  of %s", p.name)
			do(s, p)
		}
	}
}

func (s *sim) oneOf(d ...time.Duration) time.Duration { return d[s.random.IntN(len(d))] }

func (p *process) cutOff(d time.Duration) { p.cutUntil = max(p.cutUntil, p.sim.now+p.sim.rest(d)) }

func (s *sim) outage(d time.Duration) {
	s.network.downUntil = max(s.network.downUntil, s.now+s.rest(d))
}

// proveDeath proves to each other process, at different times, that a session's process has ended.
func (s *sim) proveDeath(session string) {
	for _, p := range s.processes {
		s.after(s.rest(s.between(0, 4*time.Second)), p, func() {
			p.replica.DeathProven(session)
			p.step()
		})
	}
}

// replace starts a process in place of another one.
func (s *sim) replace() { s.start(s.rest(s.between(0, 10*time.Second))) }

// faultsOfProcesses do not change the hub's objects.
var faultsOfProcesses = map[string]func(s *sim){
	"pause": with(func(s *sim, p *process) {
		p.pause(s.oneOf(5*time.Second, 11*time.Second, 13*time.Second, 60*time.Second))
	}),
	"suspension of the monotonic clock": with(func(s *sim, p *process) {
		if s.now-p.lastJump > 20*time.Second {
			p.lastJump = s.now
			p.suspend(s.between(5*time.Second, 40*time.Second), false)
		}
	}),
	"partition": with(func(s *sim, p *process) { p.cutOff(s.between(time.Second, 30*time.Second)) }),
	"long partition": with(func(_ *sim, p *process) {
		p.cutOff(time.Minute)
	}),
	"partition and stalled watch": with(func(s *sim, p *process) {
		p.cutOff(s.between(5*time.Second, 15*time.Second))
		p.stalledUntil = s.now + s.rest(40*time.Second)
	}),
	"outage of the hub": func(s *sim) { s.outage(s.between(2*time.Second, 30*time.Second)) },
	"kill": with(func(s *sim, p *process) {
		p.kill()
		if s.happens(0.5) {
			s.proveDeath(p.replica.Session())
		}
		s.replace()
	}),
	"drain": with(func(s *sim, p *process) {
		if p.sim.now >= p.pausedUntil {
			p.drain()
			s.replace()
		}
	}),
	"join": func(s *sim) {
		if len(s.processes) < 8 {
			s.start(0)
		}
	},
	"wall clock": with(func(s *sim, p *process) {
		if s.now-p.lastJump > time.Minute && s.now >= p.pausedUntil {
			p.lastJump = s.now
			p.jumped += s.oneOf(-10*time.Minute, 10*time.Minute)
		}
	}),
	"stalled watch": with(func(s *sim, p *process) {
		p.stalledUntil = s.now + s.rest(s.between(5*time.Second, 40*time.Second))
	}),
	// Its writes and reads continue.
	"stalled watch and lists": with(func(s *sim, p *process) {
		p.deafUntil = s.now + s.rest(s.between(10*time.Second, 40*time.Second))
		p.stalledUntil = max(p.stalledUntil, p.deafUntil)
	}),
	"slow hub": func(s *sim) { s.network.slowUntil = s.now + s.rest(s.between(5*time.Second, 30*time.Second)) },
}

// remember reports whether all processes know the newest shard map or have just started, and at least one has
// published it. Then they notice an older one in its place. A process that was paused or deaf during the write and
// resumes with the older one would accept it.
func (s *sim) remember() bool {
	if s.hub.ring == nil {
		return false
	}
	published := false
	for _, p := range s.processes {
		if p.dead {
			continue
		}
		if v := p.replica.view; p.replica.listed && v.version != s.hub.ring.Version {
			return false
		}
		lease, newest := s.hub.leases[p.replica.session.name], s.hub.ring.Ring
		published = published || lease.State != Fenced && lease.RingGeneration == newest.Generation && lease.RingSequence == newest.Sequence
	}
	return published
}

// faultsOfHub revert writes that the hub had acknowledged.
var faultsOfHub = map[string]func(s *sim){
	"shard map deleted": func(s *sim) { s.hub.deleteRing() },
	"shard map damaged": func(s *sim) { s.hub.damageRing() },
	"all Leases deleted": func(s *sim) {
		for _, name := range sortedKeys(s.hub.leases) {
			s.hub.deleteLease(name)
		}
	},
	"one Lease deleted": func(s *sim) {
		if names := sortedKeys(s.hub.leases); len(names) > 0 {
			s.hub.deleteLease(names[s.random.IntN(len(names))])
		}
	},
	// The shard map alone is restored. See remember.
	"shard map restored": func(s *sim) {
		taken := s.hub.image()
		s.after(s.rest(s.between(0, 40*time.Second)), nil, func() {
			if taken.ring != nil && !taken.damaged && s.remember() {
				s.tell("the shard map is restored")
				s.restored = s.now
				s.hub.ring, s.hub.damaged = &StoredRing{Ring: taken.ring.Ring, Version: s.hub.next()}, false
				s.hub.tell(ringKind, change{ring: s.hub.ring})
			}
		})
	},
	// The whole hub is restored: it is unreachable for longer than any validity.
	"hub restored": func(s *sim) {
		taken, versions := s.hub.image(), s.happens(0.5)
		s.after(s.between(0, 20*time.Second), nil, func() {
			const stopped = 9 * time.Second
			if s.rest(stopped) < stopped {
				return
			}
			s.outage(stopped)
			s.after(stopped, nil, func() {
				s.tell("the hub is restored")
				s.hub.restore(taken, versions)
			})
		})
	},
}

// randomSetup is a world with random faults for each run.
func randomSetup(s *sim, hubLoses bool) setup {
	w := calm(2+s.random.IntN(4), 2+s.random.IntN(5))
	w.drift = 0.02
	w.hubLoses = hubLoses
	w.chaos = s.between(40*time.Second, 110*time.Second)
	w.quiet = 100 * time.Second
	w.lag, w.lags = 6*time.Second, s.random.Float64()*0.3
	w.loss = s.random.Float64() * s.random.Float64() * 0.15
	if s.happens(0.4) {
		w.latencies = append(w.latencies, 100*time.Millisecond, time.Duration(s.random.Int64N(int64(3*time.Second))))
	}
	kinds := sortedKeys(faultsOfProcesses)
	for range 2 + s.random.IntN(6) {
		name := kinds[s.random.IntN(len(kinds))]
		w.faults = append(w.faults, fault{at: s.between(5*time.Second, w.chaos), name: name, do: faultsOfProcesses[name]})
	}
	if hubLoses {
		kinds := sortedKeys(faultsOfHub)
		for range 1 + s.random.IntN(2) {
			name := kinds[s.random.IntN(len(kinds))]
			w.faults = append(w.faults, fault{at: s.between(15*time.Second, w.chaos), name: name, do: faultsOfHub[name]})
		}
	}
	return w
}
