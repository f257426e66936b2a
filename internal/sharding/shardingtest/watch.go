package shardingtest

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/hub"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/protocol"
)

const (
	// relistEvery is the duration of a watch, and deafAfter how long its client waits for the hub to end it, as in package hub.
	relistEvery = 10 * time.Second
	deafAfter   = relistEvery + relistEvery/5
	// listTimeout limits a list, and listAgain is the delay before a failed one is retried.
	listTimeout = 5 * time.Second
	listAgain   = 500 * time.Millisecond
)

type observation struct {
	link     *Link
	sessions bool
	// relist holds one pending list request, looked one pending wake-up.
	relist, looked chan struct{}

	mu sync.Mutex
	// open is true after a list; changes are queued then.
	open  bool
	queue []news
}

type news struct {
	due   time.Time
	event Event
}

func newObservation(l *Link, sessions bool) *observation {
	return &observation{link: l, sessions: sessions, relist: make(chan struct{}, 1), looked: make(chan struct{}, 1)}
}

// Watch reports all sessions and the shard map to sink until ctx ends.
func (l *Link) Watch(ctx context.Context, sink hub.Sink) {
	l.mu.Lock()
	l.sink = sink
	l.mu.Unlock()
	var running sync.WaitGroup
	for _, o := range []*observation{l.sessions, l.ring} {
		running.Go(func() { o.observe(ctx, sink) })
	}
	running.Wait()
	l.mu.Lock()
	l.sink = nil
	l.mu.Unlock()
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	l.hub.links = slices.DeleteFunc(l.hub.links, func(other *Link) bool { return other == l })
}

func (o *observation) look() {
	select {
	case o.looked <- struct{}{}:
	default:
	}
}

func (o *observation) push(due time.Time, e Event) {
	o.mu.Lock()
	if o.open {
		o.queue = append(o.queue, news{due, e})
	}
	o.mu.Unlock()
	o.look()
}

func (o *observation) breakOff() {
	o.mu.Lock()
	o.open, o.queue = false, nil
	o.mu.Unlock()
	o.look()
}

func (o *observation) observe(ctx context.Context, sink hub.Sink) {
	for ctx.Err() == nil && o.link.process.Alive() {
		if !o.list(ctx, sink) {
			timer := time.NewTimer(listAgain)
			select {
			case <-timer.C:
			case <-o.relist:
			case <-ctx.Done():
			}
			timer.Stop()
			continue
		}
		o.follow(ctx, sink)
	}
}

// list reports everything to sink, and opens the watch from there.
func (o *observation) list(ctx context.Context, sink hub.Sink) bool {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	var found Backup
	err := o.link.request(ctx, o.link.fateOf(nil), func() {
		if ctx.Err() != nil {
			return // a client that gave up opens no watch
		}
		o.link.hub.mu.Lock()
		defer o.link.hub.mu.Unlock()
		found = o.link.hub.copy()
		o.mu.Lock()
		defer o.mu.Unlock()
		o.open, o.queue = true, nil
	})
	if err != nil {
		return false
	}
	switch {
	case o.sessions:
		leases := make([]protocol.StoredLease, 0, len(found.leases))
		for _, name := range slices.Sorted(maps.Keys(found.leases)) {
			leases = append(leases, found.leases[name])
		}
		sink.Leases(leases)
	case found.ring == nil:
		sink.RingDeleted()
	default:
		o.told(found.ring)
		sink.Ring(*found.ring)
	}
	return true
}

func (o *observation) told(ring *protocol.StoredRing) {
	o.link.mu.Lock()
	defer o.link.mu.Unlock()
	o.link.told = ring
}

// follow reports new events to sink until the watch breaks or a list is due.
func (o *observation) follow(ctx context.Context, sink hub.Sink) {
	opened := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		next, wait, ok := o.next(opened)
		if !ok {
			return
		}
		if next != nil {
			if o.link.process.LateTurn() != nil {
				return
			}
			if !o.sessions {
				o.told(next.Ring)
			}
			next.tell(sink)
			continue
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-o.looked:
		case <-o.relist:
			return
		case <-ctx.Done():
			return
		}
	}
}

// next returns the next event if it is due, otherwise how long to wait; false if the watch is over.
func (o *observation) next(opened time.Time) (e *Event, wait time.Duration, ok bool) {
	o.link.mu.Lock()
	deaf := o.link.stalled || o.link.way == BlackHoled || o.link.way == Mute
	o.link.mu.Unlock()
	o.mu.Lock()
	defer o.mu.Unlock()
	last := opened.Add(relistEvery)
	if deaf {
		last = opened.Add(deafAfter)
	}
	now := time.Now()
	if !o.open || !now.Before(last) {
		return nil, 0, false
	}
	if wait = last.Sub(now); deaf || len(o.queue) == 0 {
		return nil, wait, true
	}
	if first := o.queue[0]; first.due.After(now) {
		return nil, min(wait, first.due.Sub(now)), true
	}
	e, o.queue = &o.queue[0].event, o.queue[1:]
	return e, 0, true
}
