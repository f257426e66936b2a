package shardingtest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/hub"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/protocol"
)

// Way is how a link works.
type Way int

const (
	// Fine is as it should be.
	Fine Way = iota
	// Refused links say at once that nobody is there.
	Refused
	// BlackHoled links let nothing through and say nothing.
	BlackHoled
	// Mute links let requests through and no answer back.
	Mute
)

// Fate is what becomes of one request.
type Fate struct {
	// There and Back are how long the request and its answer travel. A request that travels for longer than its client waits is carried
	// out late.
	There, Back time.Duration
	// Way of this request.
	Way Way
}

var (
	errRefused  = errors.New("connection refused")
	errNoAnswer = errors.New("no answer came")
)

// Trip is how long a request or an answer travels, and news of a watch, unless a test says otherwise.
const Trip = time.Millisecond

// Link is one replica's way to the hub. It implements sharding.Hub.
type Link struct {
	hub     *Hub
	process *Process
	// sessions and ring are its two watches.
	sessions, ring *observation

	mu   sync.Mutex
	way  Way
	trip time.Duration
	// stalled watches tell nothing; lag is how late they are otherwise.
	stalled bool
	lag     time.Duration
	fate    func(protocol.Op, Fate) Fate
	sink    hub.Sink
	// told is the ring that the watch told last.
	told *protocol.StoredRing
	// renewed and verified are when the last requests were sent that wrote the own Lease, and that read or wrote the ring, and were
	// answered so.
	renewed, verified time.Time
}

// Link returns the way of a process to the hub.
func (h *Hub) Link(p *Process) *Link {
	l := &Link{hub: h, process: p, trip: Trip, lag: Trip}
	l.sessions, l.ring = newObservation(l, true), newObservation(l, false)
	p.onContinue(func() { time.AfterFunc(Trip, l.wake) })
	h.mu.Lock()
	defer h.mu.Unlock()
	h.links = append(h.links, l)
	return l
}

// Set says how the link works from now on.
func (l *Link) Set(way Way) {
	l.mu.Lock()
	l.way = way
	l.mu.Unlock()
	if way == Refused {
		l.breakWatches()
	}
	l.sessions.look()
	l.ring.look()
}

// Slow makes each request and each answer travel for so long.
func (l *Link) Slow(trip time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trip = trip
}

// Lag makes news that are written from now on arrive so late.
func (l *Link) Lag(lag time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lag = lag
}

// Stall keeps watches from telling anything, until it is called with false.
func (l *Link) Stall(stalled bool) {
	l.mu.Lock()
	l.stalled = stalled
	l.mu.Unlock()
	l.sessions.look()
	l.ring.look()
}

// Decide lets f say what becomes of each request, given what would become of it. It must not block.
func (l *Link) Decide(f func(protocol.Op, Fate) Fate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fate = f
}

func (l *Link) fateOf(op protocol.Op) Fate {
	l.mu.Lock()
	defer l.mu.Unlock()
	fate := Fate{There: l.trip, Back: l.trip, Way: l.way}
	if l.fate != nil && op != nil {
		return l.fate(op, fate)
	}
	return fate
}

// Do sends one request, once.
func (l *Link) Do(ctx context.Context, op protocol.Op) protocol.Result {
	sent := time.Now()
	var answer protocol.Result
	if err := l.request(ctx, l.fateOf(op), func() { answer = l.hub.carryOut(op) }); err != nil {
		return protocol.Result{Outcome: protocol.Unknown, Err: err}
	}
	if answer.Outcome == protocol.Done {
		l.answered(op, sent)
	}
	return answer
}

func (l *Link) answered(op protocol.Op, sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch op := op.(type) {
	case protocol.CreateSession:
		l.renewed = sent
	case protocol.WriteSession:
		if op.Lease.State != protocol.Fenced {
			l.renewed = sent
		}
	case protocol.ReadRing, protocol.CreateRing, protocol.WriteRing:
		l.verified = sent
	}
}

// Proven is the last moment at which the replica had a valid session and a ring that was current, as far as it can know: the
// earlier of the moments before the last renewal, and the last look at the ring, that were answered.
func (l *Link) Proven() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.verified.Before(l.renewed) {
		return l.verified
	}
	return l.renewed
}

// request lets do happen after the way there, and returns nil when the answer has come back.
func (l *Link) request(ctx context.Context, fate Fate, do func()) error {
	if err := l.process.Turn(); err != nil {
		return err
	}
	answer := make(chan struct{})
	switch fate.Way {
	case Refused:
		return errRefused
	case BlackHoled:
	case Fine, Mute:
		time.AfterFunc(fate.There, func() {
			do()
			if fate.Way == Fine {
				time.AfterFunc(fate.Back, func() { close(answer) })
			}
		})
	}
	err := errNoAnswer
	select {
	case <-answer:
		err = nil
	case <-ctx.Done():
	case <-l.process.dead:
	}
	if turn := l.process.LateTurn(); turn != nil {
		return turn
	}
	return err
}

// Relist makes Watch list everything now.
func (l *Link) Relist() {
	for _, o := range []*observation{l.sessions, l.ring} {
		select {
		case o.relist <- struct{}{}:
		default:
		}
	}
}

// wake lets a process that goes on look at its clocks: all timers that have expired meanwhile do so now.
func (l *Link) wake() {
	l.mu.Lock()
	sink, told := l.sink, l.told
	l.mu.Unlock()
	if sink == nil {
		return
	}
	if told == nil {
		sink.RingDeleted()
		return
	}
	sink.Ring(*told)
}

func (l *Link) push(e Event) {
	l.mu.Lock()
	due := e.At.Add(l.lag)
	l.mu.Unlock()
	if e.aboutSessions() {
		l.sessions.push(due, e)
	} else {
		l.ring.push(due, e)
	}
}

func (l *Link) breakWatches() {
	l.sessions.breakOff()
	l.ring.breakOff()
}
