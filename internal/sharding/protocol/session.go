package protocol

import "time"

type session struct {
	name string
	// version of the Lease as far as known; "" before it was created.
	version string
	// renewals is the number of writes that were sent; confirmed is the number of the last one with a response. A
	// stored number between them is a write with a lost reply; a lower one comes from a backup.
	renewals, confirmed int64
	// notBefore is the monotonic instant before which no request is sent, however urgent.
	notBefore time.Duration
	// sent is when the last request was sent.
	sent time.Duration
	// unsure is true if it is unknown whether a write was executed.
	unsure bool
	// published is the state in the newest write with a response.
	published State
	// readySince is when the state was first published as ready.
	readySince instantOrNever
	// urgent is true if there is new data to publish, and now if others wait for it.
	urgent, now bool
	// ended is true if the Lease was deleted on purpose.
	ended bool
}

// renewSoon publishes new data before the next renewal is due, at most four times as often as renewals.
func (r *Replica) renewSoon() { r.session.urgent = true }

// renewNow publishes data that others wait for.
func (r *Replica) renewNow() {
	r.session.urgent, r.session.now = true, true
}

func (r *Replica) lease() Lease {
	state := r.state
	if state == Ready && (!r.listed || r.ringProblem != "") {
		state = Starting // others would reserve buckets for it that it cannot take
	}
	return Lease{
		Session: r.session.name, Boot: r.cfg.Boot, Host: r.cfg.Host, State: state, Settings: r.settings,
		Renewals: r.session.renewals, Published: r.published,
		RingGeneration: r.view.generation, RingSequence: r.view.sequence,
	}
}

// sessionOp returns the next request about the own session.
func (r *Replica) sessionOp(now Instant) Op {
	s := &r.session
	if s.ended {
		return nil
	}
	if now.Mono < s.notBefore {
		return nil
	}
	if s.version != "" && !s.unsure && s.published == Draining && r.empty() && r.flights[laneRing] == nil && !r.view.unsure {
		return DeleteSession{Session: s.name, Version: s.version}
	}
	if now.Mono < r.due[laneSession] && !s.now && (!s.urgent || now.Mono < s.sent+r.cfg.Timings.Renew/4) {
		return nil
	}
	if s.version != "" && s.unsure {
		return ReadSession{Session: s.name}
	}
	s.renewals++
	s.urgent, s.now, s.sent = false, false, now.Mono
	if s.version == "" {
		return CreateSession{Lease: r.lease()}
	}
	return WriteSession{Lease: r.lease(), Version: s.version}
}

// empty reports whether the replica holds nothing, both in its own state and in the shard map.
func (r *Replica) empty() bool {
	if r.Held() > 0 || r.leader.held || r.view.stale {
		return false
	}
	for _, s := range r.view.ring.Buckets {
		if s.Holder == r.session.name {
			return false
		}
	}
	return r.view.ring.Leader.Holder != r.session.name
}

// sessionDone takes the response to a request about the own session that was sent at sent.
func (r *Replica) sessionDone(now, sent Instant, op Op, result Result) {
	if sessionOf(op) != r.session.name {
		return // the response concerns a session that has ended
	}
	switch op := op.(type) {
	case CreateSession:
		r.created(now, sent, op.Lease, result)
	case WriteSession:
		r.written(now, sent, op.Lease, result)
	case ReadSession:
		r.read(now, result)
	case DeleteSession:
		if result.Outcome == Done || result.Outcome == Missing {
			r.session.ended, r.session.version = true, ""
			return
		}
		r.session.unsure = true
		r.sessionAgain(now, r.cfg.Timings.Renew/4)
	}
}

// sessionAgain blocks requests about the session for about d.
func (r *Replica) sessionAgain(now Instant, d time.Duration) {
	r.session.notBefore = now.Mono + time.Duration((0.5+r.cfg.Random())*float64(d))
	r.due[laneSession] = r.session.notBefore
}

func (r *Replica) created(now, sent Instant, lease Lease, result Result) {
	switch result.Outcome {
	case Done:
		r.renewedAt(now, sent, lease, result.Lease.Version)
	case Refused:
		r.sessionProblem = problem("the session's Lease cannot be created", result.Err)
		r.sessionAgain(now, r.cfg.Timings.Renew)
	default:
		// The Lease possibly exists, or will be created later. A name is used once: the Lease stays silent and is
		// collected.
		r.mint()
		r.sessionAgain(now, r.cfg.Timings.Renew/4)
	}
}

func (r *Replica) written(now, sent Instant, lease Lease, result Result) {
	s := &r.session
	switch result.Outcome {
	case Done:
		r.renewedAt(now, sent, lease, result.Lease.Version)
	case Conflict:
		s.unsure, s.urgent = true, true
		r.due[laneSession], s.notBefore = now.Mono, now.Mono
	case Unknown:
		s.unsure, s.urgent = true, true
		r.sessionAgain(now, r.cfg.Timings.Renew/4)
	case Refused:
		s.urgent = true
		r.sessionProblem = problem("the session's Lease cannot be renewed", result.Err)
		r.sessionAgain(now, r.cfg.Timings.Renew/2)
	default:
		r.fenced(now)
	}
}

// read takes the hub's state of the session after a write whose outcome is unknown.
func (r *Replica) read(now Instant, result Result) {
	s, lease := &r.session, result.Lease
	ours := lease.State != Fenced && lease.Session == s.name && lease.Boot == r.cfg.Boot &&
		lease.Renewals <= s.renewals && lease.Renewals >= s.confirmed
	switch {
	case result.Outcome == Done && ours:
		// The same version: the write whose reply was lost has not been executed, but still can be; the next write
		// settles it. Another version: it was executed.
		s.version, s.unsure = lease.Version, false
		r.due[laneSession] = now.Mono
	case result.Outcome == Done, result.Outcome == Missing:
		r.fenced(now)
	default:
		r.sessionAgain(now, r.cfg.Timings.Renew/4)
	}
}

func sessionOf(op Op) string {
	switch op := op.(type) {
	case CreateSession:
		return op.Lease.Session
	case WriteSession:
		return op.Lease.Session
	case ReadSession:
		return op.Session
	case DeleteSession:
		return op.Session
	}
	return ""
}

func (r *Replica) renewedAt(now, sent Instant, lease Lease, version string) {
	s := &r.session
	s.version, s.unsure, s.confirmed = version, false, lease.Renewals
	if lease.State == Ready && s.published != Ready {
		s.readySince.set(now)
	}
	s.published = lease.State
	r.sessionProblem = ""
	r.extend(now, func() { r.renewed.set(sent) })
	r.due[laneSession] = sent.Mono + r.cfg.Timings.Renew
}

// fenced ends the session: another session fenced it, or its Lease is not the one that this process wrote. Another
// session can hold its locks from now on.
func (r *Replica) fenced(now Instant) {
	r.changes.Fenced = true
	r.loseAll()
	r.mint()
	r.due[laneSession] = now.Mono
}

// mint begins a new session. A name is never used again.
func (r *Replica) mint() {
	r.session = session{name: r.cfg.NewSession()}
	r.renewed = instantOrNever{}
	r.changes.Leading, r.changes.Peers = true, true
}

func problem(what string, err error) string {
	if err != nil {
		what += ": " + err.Error()
	}
	return what
}
