package protocol

import (
	"slices"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/ring"
)

// maxYielding is how many buckets one replica moves to others at a time.
const maxYielding = 8

// ringOp returns the next request that changes the shard map or fences a session.
func (r *Replica) ringOp(now Instant) (Op, *intent) {
	v := &r.view
	absent := v.missing || v.invalid || v.restored
	if now.Mono < r.due[laneRing] || v.stale || !r.listed || !absent && v.version == "" {
		return nil, nil
	}
	if absent {
		return r.rebuildOp(now), &intent{}
	}
	// If another replica has seen a newer one, the read in progress shows whether it still exists.
	if v.older(v.ring) || !r.Valid(now) {
		return nil, nil
	}
	if op := r.fenceOp(now); op != nil {
		return op, &intent{}
	}
	if v.ring.Settings != r.settings {
		if r.othersHold() {
			return nil, nil
		}
		return r.rebuildOp(now), &intent{}
	}
	next, in := r.nextRing(now)
	if in == nil {
		return r.collectOp(now), &intent{}
	}
	return WriteRing{Ring: next, Version: v.version}, in
}

func (r *Replica) rebuildOp(now Instant) Op {
	switch {
	case !r.leaseValid(now) || r.state == Draining:
		return nil
	case r.view.missing:
		return CreateRing{Ring: r.rebuilt()}
	}
	return WriteRing{Ring: r.rebuilt(), Version: r.view.version}
}

// fenceOp fences a session that has been silent for too long, if it holds a lock. The leader fences any such session.
func (r *Replica) fenceOp(now Instant) Op {
	for _, name := range r.peerNames() {
		p := r.peers[name]
		if p.fenced.ever || r.silent(now, p) < r.patience(p) || !r.holds(name) && !r.leader.held {
			continue
		}
		lease := p.lease.Lease
		lease.State, lease.FencedBy, lease.Published, lease.DeathProven = Fenced, r.session.name, nil, p.proven
		if p.missing {
			return CreateSession{Lease: lease}
		}
		return WriteSession{Lease: lease, Version: p.lease.Version}
	}
	return nil
}

// collectOp deletes Leases of fenced sessions that hold nothing. Only the leader does this.
func (r *Replica) collectOp(now Instant) Op {
	if !r.leader.held {
		return nil
	}
	for _, name := range r.peerNames() {
		p := r.peers[name]
		if p.fenced.ever && !p.missing && now.Since(p.fenced.Instant) >= r.cfg.Timings.Retention && !r.holds(name) {
			return DeleteSession{Session: name, Version: p.lease.Version}
		}
	}
	return nil
}

func (r *Replica) peerNames() []string {
	names := make([]string, 0, len(r.peers))
	for name := range r.peers {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// othersHold reports whether another session can still act with the shard map's other settings, or runs with them.
func (r *Replica) othersHold() bool {
	alive := func(name string) bool {
		p := r.peers[name]
		return name != "" && name != r.session.name && (p == nil || !p.fenced.ever)
	}
	if alive(r.view.ring.Leader.Holder) || slices.ContainsFunc(r.view.ring.Buckets, func(s ring.Lock) bool { return alive(s.Holder) }) {
		return true
	}
	for _, p := range r.peers {
		if !p.fenced.ever && !p.missing && p.lease.Settings != r.settings {
			return true
		}
	}
	return false
}

// intent describes a write of the shard map: the claimed buckets and their numbers.
type intent struct {
	claims map[int]int64
	leader int64
	// slow are the sessions that the claimed buckets had been reserved for.
	slow []string
	// from are the sessions from which the claimed buckets were taken.
	from []string
}

// vacant reports whether no session that can still act holds a lock.
func (r *Replica) vacant(in ring.Lock) bool {
	if in.Holder == "" {
		return true
	}
	p := r.peers[in.Holder]
	return p != nil && p.fenced.ever
}

// nextRing returns the shard map that this replica wants next, or no intent if it wants no change.
func (r *Replica) nextRing(now Instant) (ring.Ring, *intent) {
	v := &r.view
	next := v.ring
	next.Buckets = slices.Clone(v.ring.Buckets)
	next.Sequence++
	in := &intent{claims: map[int]int64{}}
	changed := false
	if v.wanted > next.Generation {
		next.Generation, changed = v.wanted, true
	}
	if r.state == Draining && r.session.published != Draining {
		return next, nil // the others must know first, or they would reserve released buckets for this replica
	}
	may := r.mayClaim(now)
	candidates := r.candidates(now)
	targets := ring.Targets(v.ring.Buckets, candidates)
	r.yield(targets, candidates)
	for b := range next.Buckets {
		s, mine := &next.Buckets[b], &r.locks[b]
		switch {
		case s.Holder == r.session.name && mine.held:
			mine.free = instantOrNever{}
			if mine.yielding && mine.tokens == 0 {
				s.Holder, changed = "", true
			}
		case s.Holder == r.session.name:
			// A claim whose reply was lost, or a release that was not executed: only a new claim grants it.
			changed = true
			if may {
				s.Number++
				in.claims[b] = s.Number
			} else {
				s.Holder = ""
			}
		case r.vacant(*s):
			mine.free.set(pick(mine.free, now))
			if may && (targets[b] == r.session.name || r.orphaned(now, mine)) {
				if s.Holder != "" && !slices.Contains(in.from, s.Holder) {
					in.from = append(in.from, s.Holder)
				}
				if targets[b] != r.session.name {
					in.slow = append(in.slow, targets[b])
				}
				s.Holder, changed = r.session.name, true
				s.Number++
				in.claims[b] = s.Number
			}
		default:
			mine.free = instantOrNever{}
		}
	}
	if r.nextLeader(now, &next.Leader, may, candidates, in) {
		changed = true
	}
	if !changed {
		return next, nil
	}
	return next, in
}

func (r *Replica) nextLeader(now Instant, s *ring.Lock, may bool, candidates []ring.Candidate, in *intent) (changed bool) {
	vacant := s.Holder != r.session.name && r.vacant(*s)
	if vacant {
		r.leader.free.set(pick(r.leader.free, now))
	} else {
		r.leader.free = instantOrNever{}
	}
	mine := ring.LeaderTarget("", candidates) == r.session.name || vacant && r.orphaned(now, &r.leader)
	switch {
	case s.Holder == r.session.name && r.leader.held:
		if r.state == Draining {
			s.Holder = ""
			return true
		}
	case s.Holder == r.session.name && !may:
		s.Holder = ""
		return true
	case s.Holder == r.session.name, may && vacant && mine:
		s.Holder = r.session.name
		s.Number++
		in.leader = s.Number
		return true
	}
	return false
}

// orphaned reports whether the session that should take a free lock has had its chance. While no session can claim,
// none has had a chance.
func (r *Replica) orphaned(now Instant, s *lock) bool {
	since := s.free.Mono
	if r.freshEnd.ever {
		since = max(since, r.freshEnd.Mono)
	}
	return now.Mono-since >= r.cfg.Timings.Orphan
}

func (r *Replica) mayClaim(now Instant) bool {
	if r.state != Ready || r.ringProblem != "" {
		return false
	}
	fresh := r.view.fresh
	if fresh.ever && now.Mono-max(fresh.Mono, r.validSince.Mono) < r.cfg.Timings.Patience {
		r.freshEnd = instantOrNever{Instant: now, ever: true}
		return false
	}
	return true
}

// yield begins to release buckets that belong to other sessions, a few at a time. It cancels the release of a
// bucket that no longer belongs elsewhere.
func (r *Replica) yield(targets []string, candidates []ring.Candidate) {
	settled := map[string]bool{}
	for _, c := range candidates {
		settled[c.Session] = c.Settled
	}
	yielding := 0
	for b := range r.locks {
		s := &r.locks[b]
		if !s.held || r.state != Ready {
			continue
		}
		elsewhere := targets[b] != r.session.name && settled[targets[b]]
		if s.yielding && !elsewhere {
			s.yielding = false
			r.changes.Gained = append(r.changes.Gained, b)
		}
		if s.yielding {
			yielding++
		}
	}
	for b := range r.locks {
		s := &r.locks[b]
		if r.writeProblem == "" && yielding < maxYielding && s.held && !s.yielding && r.state == Ready && targets[b] != r.session.name && settled[targets[b]] {
			s.yielding = true
			yielding++
		}
	}
}

// sending marks as lost the locks that a write of the shard map releases: from now on, another session can hold them.
func (r *Replica) sending(next ring.Ring) {
	release := func(s *lock, in ring.Lock) {
		if s.held && in.Holder != r.session.name {
			r.lose(s)
		}
	}
	for b := range r.locks {
		if b < len(next.Buckets) {
			release(&r.locks[b], next.Buckets[b])
		}
	}
	release(&r.leader, next.Leader)
}

// ringDone takes the response to a request of the ring lane that was sent at sent.
func (r *Replica) ringDone(now, sent Instant, op Op, in *intent, result Result) {
	retry := func() {
		r.due[laneRing] = now.Mono + duration(r.cfg.Random()*float64(r.cfg.Timings.Renew)/4)
	}
	switch op := op.(type) {
	case WriteSession:
		r.fenceDone(now, op.Lease.Session, result)
	case CreateSession:
		r.fenceDone(now, op.Lease.Session, result)
	case DeleteSession:
		if result.Outcome == Done || result.Outcome == Missing {
			r.LeaseGone(now, op.Session) // the watch is possibly behind
			return
		}
		r.changes.Relist = true
		retry()
	case CreateRing, WriteRing:
		switch result.Outcome {
		case Done:
			r.ringWritten(now, sent, in, result.Ring)
		case Refused:
			r.writeProblem = problem("the shard map cannot be written", result.Err)
			r.view.stale = true
			r.verifySoon()
			r.due[laneRing] = now.Mono + r.cfg.Timings.Renew
		case Unknown:
			r.view.stale, r.view.unsure = true, true
			r.verifySoon()
			retry()
		default:
			r.view.stale = true
			r.verifySoon()
		}
	}
}

func (r *Replica) ringWritten(now, sent Instant, in *intent, stored StoredRing) {
	r.view.missing, r.view.invalid, r.view.unsure = false, false, false
	r.writeProblem = ""
	for _, name := range in.slow {
		if p := r.peers[name]; p != nil {
			p.slow = instantOrNever{Instant: now.Add(2 * r.cfg.Timings.Settle), ever: true}
		}
	}
	if r.view.wanted <= stored.Ring.Generation {
		r.view.wanted = 0
	}
	r.extend(now, func() { r.verified.set(sent) })
	r.sawRing(now, stored, true)
	if r.view.ring.Settings != r.settings {
		return
	}
	// A later shard map was possibly seen already; it shows which claims are left.
	mine := func(in ring.Lock, number int64) bool { return in.Holder == r.session.name && in.Number == number }
	for b, number := range in.claims {
		if !mine(r.view.ring.Buckets[b], number) {
			continue
		}
		s := &r.locks[b]
		s.held, s.number, s.yielding = true, number, r.state == Draining
		r.changes.Gained = append(r.changes.Gained, b)
	}
	if in.leader > 0 && mine(r.view.ring.Leader, in.leader) {
		r.leader.held, r.leader.number = true, in.leader
		r.changes.Leading, r.changes.Peers = true, true
	}
	for _, name := range in.from {
		if p := r.peers[name]; p != nil {
			r.changes.Took = append(r.changes.Took, Takeover{Session: name, Silent: now.Since(p.change), DeathProven: p.lease.DeathProven})
		}
	}
}

func (r *Replica) fenceDone(now Instant, name string, result Result) {
	p := r.peers[name]
	if p == nil {
		return
	}
	switch result.Outcome {
	case Done:
		before := p.change
		p.lease, p.missing = result.Lease, false
		r.dead(now, name, p)
		p.change = before // the last sign of life was before the fence
	case Conflict, Exists:
		// The session is alive, or another replica has fenced it: the replica's view of it is outdated.
		p.change, p.proven, p.refuted = now, false, true
		r.changes.Relist = true
	case Missing:
		// The Lease was deleted, possibly a moment ago: its session can be valid for as long as after any renewal.
		p.missing, p.change = true, now
	default:
		// If the fence was executed, the next list shows it; otherwise it is retried.
		r.changes.Relist = true
		r.due[laneRing] = now.Mono + r.cfg.Timings.Renew/4
	}
}
