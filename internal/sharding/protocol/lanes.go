package protocol

import "time"

// Lane names a sequence of requests, of which one is in flight at a time.
type Lane int

const (
	laneSession Lane = iota
	laneVerify
	laneRing
	lanes
)

// Request is a request of the replica to the hub. Its response goes to Complete with the same Lane.
type Request struct {
	Lane Lane
	Op   Op
	// Timeout limits the request. A request without a response by then has the outcome Unknown.
	Timeout time.Duration
}

type flight struct {
	op    Op
	sent  Instant
	in    *intent
	floor [2]int64
}

func duration(f float64) time.Duration { return time.Duration(f) }

// Next returns the requests to send now, and the monotonic instant at which to call Next again if no change happens
// before.
func (r *Replica) Next(now Instant) (requests []Request, wake time.Duration) {
	if !r.lapsed && r.validSince != (Instant{}) && !r.session.ended && !r.Valid(now) {
		r.lapsed, r.changes.Lapsed = true, true
		r.changes.Leading = true
	}
	if r.missed && r.Valid(now) { // a wall clock that went forward and back
		r.missed = false
		r.gainAll()
	}
	send := func(lane Lane, op Op, in *intent) {
		if op == nil {
			return
		}
		r.flights[lane] = &flight{op: op, sent: now, in: in, floor: [2]int64{r.view.generation, r.view.sequence}}
		requests = append(requests, Request{Lane: lane, Op: op, Timeout: r.timeout(now)})
	}
	if r.flights[laneSession] == nil {
		op := r.sessionOp(now)
		send(laneSession, op, nil)
	}
	if r.flights[laneVerify] == nil && now.Mono >= r.due[laneVerify] && !r.session.ended {
		send(laneVerify, ReadRing{}, nil)
	}
	if r.flights[laneRing] == nil && !r.session.ended {
		op, in := r.ringOp(now)
		if write, is := op.(WriteRing); is {
			r.sending(write.Ring)
		}
		send(laneRing, op, in)
	}
	return requests, r.wake(now)
}

// timeout returns the timeout of a request. A response after the end of validity does not extend it any more, so
// the next request is sent then.
func (r *Replica) timeout(now Instant) time.Duration {
	t := r.cfg.Timings
	if left := r.Left(now); left > t.Renew {
		return min(t.Request, left)
	}
	return t.Request
}

// Complete takes the response to the request of a lane.
func (r *Replica) Complete(now Instant, lane Lane, result Result) {
	f := r.flights[lane]
	r.flights[lane] = nil
	switch lane {
	case laneSession:
		r.sessionDone(now, f.sent, f.op, result)
	case laneVerify:
		r.due[laneVerify] = now.Mono + r.cfg.Timings.Renew/4
		again := r.verifyAgain
		r.verifyAgain = false
		if r.ringRead(now, f.sent, f.floor, result); again {
			r.verifySoon()
		}
	case laneRing:
		r.ringDone(now, f.sent, f.op, f.in, result)
	}
}

// wake returns when the passage of time alone requires an action.
func (r *Replica) wake(now Instant) time.Duration {
	t := r.cfg.Timings
	next := now.Mono + t.Renew
	at := func(instant time.Duration) {
		if instant > now.Mono {
			next = min(next, instant)
		}
	}
	at(r.due[laneSession])
	at(r.session.notBefore)
	if r.session.urgent {
		at(r.session.sent + t.Renew/4)
	}
	at(r.due[laneVerify])
	at(r.due[laneRing])
	if left := r.Left(now); left > 0 {
		at(now.Mono + left)
	}
	if r.view.fresh.ever {
		at(max(r.view.fresh.Mono, r.validSince.Mono) + t.Patience)
	}
	for _, p := range r.peers {
		if !p.fenced.ever {
			at(max(p.change.Mono, r.validSince.Mono) + r.patience(p))
		}
		if p.ready.ever {
			at(p.ready.Mono + t.Settle)
		}
	}
	for b := range r.locks {
		if f := r.locks[b].free; f.ever {
			at(f.Mono + t.Orphan)
		}
	}
	if r.leader.free.ever {
		at(r.leader.free.Mono + t.Orphan)
	}
	return next
}
