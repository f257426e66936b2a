package protocol

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/ring"
)

// peer is another session, as this replica sees it.
type peer struct {
	lease StoredLease
	// missing: there is no Lease of that name, although the ring or an earlier look knew one.
	missing bool
	// change is when the Lease was last seen to change, or first seen to be missing.
	change Instant
	// ready is since when it has said so.
	ready instantOrNever
	// fenced is final, unless the hub loses the fence; see doubt. last is the number of renewals up to it.
	fenced instantOrNever
	last   int64
	// slow is until when nothing is moved to it: somebody else had to take what was left to it.
	slow instantOrNever
	// proven: its process is known to have ended. refuted: it showed a sign of life after that was said, so that nothing
	// that is said about it is believed any more.
	proven, refuted bool
}

// Peer is what others may know of a session.
type Peer struct {
	Lease
	// Self is the own session, Leader the one that holds the leader's lock.
	Self, Leader bool
}

// Peers returns the sessions that are not known to be dead, with what they publish, sorted by name.
func (r *Replica) Peers() []Peer {
	own := r.lease()
	peers := []Peer{{Lease: own, Self: true, Leader: r.leader.held}}
	for name, p := range r.peers {
		if p.fenced.ever {
			continue // one whose Lease is missing may still act
		}
		peers = append(peers, Peer{Lease: p.lease.Lease, Leader: r.view.ring.Leader.Holder == name})
	}
	slices.SortFunc(peers, func(a, b Peer) int { return cmp.Compare(a.Session, b.Session) })
	return peers
}

// BootDead reports whether no session of a process can act any more. It is false whenever this replica cannot
// judge.
func (r *Replica) BootDead(now Instant, boot string) bool {
	if !r.listed || !r.Valid(now) || boot == r.cfg.Boot {
		return false
	}
	known := false
	for _, p := range r.peers {
		if p.lease.Boot == boot {
			known = true
			if !p.fenced.ever {
				return false
			}
		}
	}
	// A boot without a Lease has ended in order, or its Lease was collected; if Leases were deleted, whoever is
	// alive makes a new one within a renewal.
	return known || now.Mono-max(r.validSince.Mono, r.vanished.Mono) >= r.cfg.Timings.Patience
}

// DeathProven tells that the process of a session has ended. That shortens the patience with it and nothing else. It
// reports whether it is believed: a session that goes on living after it was called dead is never called dead again, and
// one that is fenced has nothing left to lose.
func (r *Replica) DeathProven(session string) (believed bool) {
	p := r.peers[session]
	if p == nil || p.refuted || p.fenced.ever {
		return false
	}
	p.proven = true
	return true
}

// calledDead reports whether a session of a process was called dead: a process that begins another one lives.
func (r *Replica) calledDead(boot string) bool {
	for _, p := range r.peers {
		if p.lease.Boot == boot && boot != "" && (p.proven || p.refuted) {
			return true
		}
	}
	return false
}

// refute takes back that a session's process has ended.
func (r *Replica) refute(p *peer) {
	if p.proven {
		p.proven, p.refuted = false, true
		r.changes.Refuted = append(r.changes.Refuted, p.lease.Session)
	}
}

// SawLeases takes a complete list.
func (r *Replica) SawLeases(now Instant, all []StoredLease) {
	r.listed = true
	present := map[string]bool{}
	for _, lease := range all {
		present[lease.Session] = true
		r.SawLease(now, lease)
	}
	for name := range r.peers {
		if !present[name] {
			r.LeaseGone(now, name)
		}
	}
	if r.session.version != "" && !present[r.session.name] {
		r.suspectOwn(now)
	}
}

// SawLease takes one Lease that is new or changed.
func (r *Replica) SawLease(now Instant, lease StoredLease) {
	if lease.Session == r.session.name {
		if lease.State == Fenced {
			r.fenced(now)
		}
		return
	}
	r.remember(lease.RingGeneration, lease.RingSequence)
	p := r.peers[lease.Session]
	if p == nil {
		p = &peer{change: now, refuted: r.calledDead(lease.Boot)}
		r.peers[lease.Session] = p
		r.changes.Peers = true
	}
	if p.fenced.ever && lease.State != Fenced && lease.Renewals > p.last {
		r.doubt(now, p)
	}
	if p.fenced.ever {
		p.lease, p.missing = lease, false
		return
	}
	if lease.Renewals > p.lease.Renewals && lease.State != Fenced {
		r.refute(p) // only the process itself counts its renewals on
	}
	if p.missing || p.lease.Version != lease.Version {
		if p.lease.State != lease.State || !maps.Equal(p.lease.Published, lease.Published) {
			r.changes.Peers = true
		}
		if lease.State != Fenced { // the last sign of life was before the fence
			p.change = now
		}
		p.lease, p.missing = lease, false
	}
	switch lease.State {
	case Fenced:
		r.dead(now, lease.Session, p)
	case Ready:
		p.ready.set(pick(p.ready, now))
	default:
		p.ready = instantOrNever{}
	}
}

func pick(was instantOrNever, now Instant) Instant {
	if was.ever {
		return was.Instant
	}
	return now
}

// LeaseGone takes the news that there is no Lease of a session.
func (r *Replica) LeaseGone(now Instant, name string) {
	if name == r.session.name {
		r.suspectOwn(now)
		return
	}
	p := r.peers[name]
	if p == nil || p.missing {
		return
	}
	r.changes.Peers = true
	if !r.holds(name) || p.fenced.ever {
		if !p.fenced.ever {
			r.changes.Dead = append(r.changes.Dead, name)
			if p.lease.State != Draining {
				r.vanished = now
			}
		}
		if !r.holds(name) {
			delete(r.peers, name)
			return
		}
	}
	p.missing, p.change = true, now
}

// suspectOwn asks the hub about the own session at once: a watch alone proves nothing, and may be behind.
func (r *Replica) suspectOwn(now Instant) {
	if r.session.version != "" && !r.session.ended {
		r.session.unsure = true
		r.due[laneSession] = now.Mono
	}
}

// dead notes that a session is fenced.
func (r *Replica) dead(now Instant, name string, p *peer) {
	if p.fenced.ever {
		return
	}
	p.fenced.set(now)
	p.last = p.lease.Renewals
	r.changes.Peers = true
	r.changes.Dead = append(r.changes.Dead, name)
}

// doubt forgets a fence that the hub has lost, as a restored one does: the session goes on and knows nothing of it. If
// the fence is there after all, the list shows it.
func (r *Replica) doubt(now Instant, p *peer) {
	p.fenced, p.change = instantOrNever{}, now
	r.refute(p)
	r.changes.Relist, r.changes.Peers = true, true
}

// doubtFences looks for claims by sessions whose fence is known: nobody claims after having been fenced.
func (r *Replica) doubtFences(now Instant, before, after ring.Ring) {
	claimed := func(was, is ring.Lock) {
		if p := r.peers[is.Holder]; p != nil && p.fenced.ever && (was != is || before.Rebuilt != after.Rebuilt) {
			r.doubt(now, p)
		}
	}
	if len(before.Buckets) != len(after.Buckets) {
		return
	}
	claimed(before.Leader, after.Leader)
	for b := range after.Buckets {
		claimed(before.Buckets[b], after.Buckets[b])
	}
}

// holds reports whether the ring names a session.
func (r *Replica) holds(name string) bool {
	return r.view.ring.Leader.Holder == name ||
		slices.ContainsFunc(r.view.ring.Buckets, func(s ring.Lock) bool { return s.Holder == name })
}

// expectHolders begins the patience with holders that have no Lease.
func (r *Replica) expectHolders(now Instant) {
	if !r.listed {
		return
	}
	expect := func(name string) {
		if name != "" && name != r.session.name && r.peers[name] == nil {
			r.peers[name] = &peer{missing: true, change: now, lease: StoredLease{Lease: Lease{Session: name}}}
		}
	}
	expect(r.view.ring.Leader.Holder)
	for _, s := range r.view.ring.Buckets {
		expect(s.Holder)
	}
	for name, p := range r.peers {
		if p.missing && !r.holds(name) {
			if !p.fenced.ever {
				r.vanished = now
			}
			r.dead(now, name, p)
			delete(r.peers, name)
		}
	}
}

// noteClaims believes again in sessions that have taken something since the ring was before.
func (r *Replica) noteClaims(before ring.Ring) {
	for b, is := range r.view.ring.Buckets {
		if p := r.peers[is.Holder]; p != nil && p.slow.ever && (b >= len(before.Buckets) || before.Buckets[b].Holder != is.Holder) {
			p.slow = instantOrNever{}
		}
	}
}

// silent is for how long a session has shown no sign of life while this replica could judge.
func (r *Replica) silent(now Instant, p *peer) time.Duration {
	if !r.Valid(now) {
		return 0
	}
	return now.Mono - max(p.change.Mono, r.validSince.Mono)
}

// patience with a session. Replicas with other settings may believe themselves valid for longer than this one does.
func (r *Replica) patience(p *peer) time.Duration {
	d := max(r.cfg.Timings.Patience, p.lease.Settings.Patience, r.view.ring.Settings.Patience)
	if p.proven {
		return min(d, r.cfg.Timings.Proven)
	}
	return d
}

// candidates are the sessions that may hold buckets, the own one included. A former session of this process, which a restored hub or
// a lost reply leaves behind, takes nothing any more, however alive it looks.
func (r *Replica) candidates(now Instant) []ring.Candidate {
	var all []ring.Candidate
	if r.state == Ready && r.session.version != "" && r.ringProblem == "" {
		settled := r.session.readySince.ever && now.Since(r.session.readySince.Instant) >= r.cfg.Timings.Settle
		all = append(all, ring.Candidate{Session: r.session.name, Settled: settled})
	}
	for name, p := range r.peers {
		if p.fenced.ever || p.missing || p.lease.Boot == r.cfg.Boot || p.lease.State != Ready || p.lease.Settings != r.settings || r.silent(now, p) >= r.patience(p) {
			continue
		}
		slow := p.slow.ever && now.Mono < p.slow.Mono
		all = append(all, ring.Candidate{Session: name, Settled: !slow && p.ready.ever && now.Since(p.ready.Instant) >= r.cfg.Timings.Settle})
	}
	return all
}
