package shardingtest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/hub"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/protocol"
)

// Way is the state of a link.
type Way int

const (
	// Fine is the normal state.
	Fine Way = iota
	// Refused links fail at once with a refused connection.
	Refused
	// BlackHoled links drop all requests silently.
	BlackHoled
	// Mute links deliver requests, but no responses.
	Mute
)

// Fate is the treatment of one request.
type Fate struct {
	// There and Back are how long the request and its response travel. A request that travels for longer than its client waits is
	// executed late.
	There, Back time.Duration
	// Way of this request.
	Way Way
}

var (
	errRefused  = errors.New("connection refused")
	errNoAnswer = errors.New("no answer came")
)

// Trip is the default travel time of a request, a response or a watch event.
const Trip = time.Millisecond

// Link is one replica's connection to the hub. It implements sharding.Hub.
type Link struct {
	hub     *Hub
	process *Process
	// sessions and ring are the watches of the sessions and of the shard map.
	sessions, ring *observation

	mu   sync.Mutex
	way  Way
	trip time.Duration
	// stalled watches deliver no events; otherwise, lag is their delay.
	stalled bool
	lag     time.Duration
	fate    func(protocol.Op, Fate) Fate
	sink    hub.Sink
	// told is the shard map that the watch delivered last.
	told *protocol.StoredRing
	// renewed and verified are the send times of the last successful requests that wrote the own Lease, and that read or wrote the
	// shard map.
	renewed, verified time.Time
}

// Link returns the connection of a process to the hub.
func (h *Hub) Link(p *Process) *Link {
	l := &Link{hub: h, process: p, trip: Trip, lag: Trip}
	l.sessions, l.ring = newObservation(l, true), newObservation(l, false)
	p.onContinue(func() { time.AfterFunc(Trip, l.wake) })
	h.mu.Lock()
	defer h.mu.Unlock()
	h.links = append(h.links, l)
	return l
}

// Set changes the state of the link.
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

// Slow sets the travel time of each request and each response.
func (l *Link) Slow(trip time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trip = trip
}

// Lag sets the delay of events that are written from now on.
func (l *Link) Lag(lag time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lag = lag
}

// Stall stops the delivery of watch events, until it is called with false.
func (l *Link) Stall(stalled bool) {
	l.mu.Lock()
	l.stalled = stalled
	l.mu.Unlock()
	l.sessions.look()
	l.ring.look()
}

// Decide makes f decide the fate of each request, given the default fate. f must not block.
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

// Proven is the last moment at which the replica had a valid session and a current shard map, as far as it can know. It is the earlier
// of the send times of the last successful renewal and the last successful request for the shard map.
func (l *Link) Proven() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.verified.Before(l.renewed) {
		return l.verified
	}
	return l.renewed
}

// request calls do after the travel time of the request, and returns nil when the response has arrived.
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

// wake makes a resumed process read its clocks: all timers that expired meanwhile fire now.
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
