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
	// missing: no Lease of that name exists, although the shard map or an earlier read had one.
	missing bool
	// change is when the Lease was last seen to change, or first seen to be missing.
	change Instant
	// ready is the time since which its state has been ready.
	ready instantOrNever
	// fenced is final, unless the hub loses the fence; see doubt. last is the number of renewals up to the fence.
	fenced instantOrNever
	last   int64
	// slow is the time until which no bucket is moved to it: another session had to take buckets reserved for it.
	slow instantOrNever
	// proven: its process is known to have ended. refuted: it showed a sign of life after such a report, so that later reports about
	// it are ignored.
	proven, refuted bool
}

// Peer is the public view of a session.
type Peer struct {
	Lease
	// Self is true for the own session, Leader for the one that holds the leader's lock.
	Self, Leader bool
}

// Peers returns the sessions that are not known to be dead, with their published data, sorted by name.
func (r *Replica) Peers() []Peer {
	own := r.lease()
	peers := []Peer{{Lease: own, Self: true, Leader: r.leader.held}}
	for name, p := range r.peers {
		if p.fenced.ever {
			continue // one whose Lease is missing can still act
		}
		peers = append(peers, Peer{Lease: p.lease.Lease, Leader: r.view.ring.Leader.Holder == name})
	}
	slices.SortFunc(peers, func(a, b Peer) int { return cmp.Compare(a.Session, b.Session) })
	return peers
}

// BootDead reports whether no session of a process can act any more. It is false whenever this replica cannot determine that.
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
	// A boot without a Lease has ended in order, or its Lease was collected. If Leases were deleted, live processes create new ones
	// within a renewal.
	return known || now.Mono-max(r.validSince.Mono, r.vanished.Mono) >= r.cfg.Timings.Patience
}

// DeathProven reports that the process of a session has ended. This only shortens the takeover timeout for it. It returns whether
// the replica accepts the report. A session that stays alive after such a report is never reported dead again, and a fenced session
// has nothing left to lose.
func (r *Replica) DeathProven(session string) (believed bool) {
	p := r.peers[session]
	if p == nil || p.refuted || p.fenced.ever {
		return false
	}
	p.proven = true
	return true
}

// calledDead reports whether a session of a process was reported dead: a process that begins another session is alive.
func (r *Replica) calledDead(boot string) bool {
	for _, p := range r.peers {
		if p.lease.Boot == boot && boot != "" && (p.proven || p.refuted) {
			return true
		}
	}
	return false
}

func (r *Replica) refute(p *peer) {
	if p.proven {
		p.proven, p.refuted = false, true
		r.changes.Refuted = append(r.changes.Refuted, p.lease.Session)
	}
}

// SawLeases takes a complete list of Leases.
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
		r.refute(p) // only the process itself increments its renewals
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

// LeaseGone takes the report that a session has no Lease.
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

// suspectOwn reads the own session from the hub at once: a watch alone proves nothing, and is possibly behind.
func (r *Replica) suspectOwn(now Instant) {
	if r.session.version != "" && !r.session.ended {
		r.session.unsure = true
		r.due[laneSession] = now.Mono
	}
}

func (r *Replica) dead(now Instant, name string, p *peer) {
	if p.fenced.ever {
		return
	}
	p.fenced.set(now)
	p.last = p.lease.Renewals
	r.changes.Peers = true
	r.changes.Dead = append(r.changes.Dead, name)
}

// doubt drops a fence that the hub has lost, for example by a restore: the session continues without knowledge of the fence. If the
// fence still exists, the list shows it.
func (r *Replica) doubt(now Instant, p *peer) {
	p.fenced, p.change = instantOrNever{}, now
	r.refute(p)
	r.changes.Relist, r.changes.Peers = true, true
}

// doubtFences searches for claims by sessions that are known as fenced: no session claims after it was fenced.
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

func (r *Replica) holds(name string) bool {
	return r.view.ring.Leader.Holder == name ||
		slices.ContainsFunc(r.view.ring.Buckets, func(s ring.Lock) bool { return s.Holder == name })
}

// expectHolders starts the takeover timeout for holders that have no Lease.
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

// noteClaims clears slow for sessions that have taken a bucket since the shard map was before.
func (r *Replica) noteClaims(before ring.Ring) {
	for b, is := range r.view.ring.Buckets {
		if p := r.peers[is.Holder]; p != nil && p.slow.ever && (b >= len(before.Buckets) || before.Buckets[b].Holder != is.Holder) {
			p.slow = instantOrNever{}
		}
	}
}

// silent returns how long a session has shown no sign of life while this replica could observe.
func (r *Replica) silent(now Instant, p *peer) time.Duration {
	if !r.Valid(now) {
		return 0
	}
	return now.Mono - max(p.change.Mono, r.validSince.Mono)
}

// patience returns the takeover timeout for a session. Replicas with other settings can consider themselves valid for longer than
// this one does.
func (r *Replica) patience(p *peer) time.Duration {
	d := max(r.cfg.Timings.Patience, p.lease.Settings.Patience, r.view.ring.Settings.Patience)
	if p.proven {
		return min(d, r.cfg.Timings.Proven)
	}
	return d
}

// candidates returns the sessions that can hold buckets, including the own one. A former session of this process can remain after a
// restore of the hub or a lost reply. It takes no bucket any more, even if it appears alive.
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
