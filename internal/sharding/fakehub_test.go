package sharding

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/hub"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/protocol"
)

var errAway = errors.New("the hub is away")

// fakeHub stores sessions and a ring in memory, and answers after a millisecond of virtual time.
type fakeHub struct {
	mu      sync.Mutex
	version int
	leases  map[string]protocol.StoredLease
	ring    *protocol.StoredRing
	sinks   map[*link]hub.Sink
}

func newFakeHub() *fakeHub {
	return &fakeHub{leases: map[string]protocol.StoredLease{}, sinks: map[*link]hub.Sink{}}
}

// link is one replica's way to the hub.
type link struct {
	*fakeHub
	cut bool
}

func (h *fakeHub) setCut(l *link, cut bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l.cut = cut
}

func (l *link) Do(ctx context.Context, op protocol.Op) protocol.Result {
	<-time.After(time.Millisecond)
	l.mu.Lock()
	cut := l.cut
	l.mu.Unlock()
	if cut {
		<-ctx.Done()
		return protocol.Result{Outcome: protocol.Unknown, Err: errAway}
	}
	result, tell := l.do(op)
	for _, t := range tell {
		t()
	}
	return result
}

func (h *fakeHub) do(op protocol.Op) (result protocol.Result, tell []func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.version++
	version := strconv.Itoa(h.version)
	toAll := func(f func(hub.Sink)) {
		for l, sink := range h.sinks {
			if !l.cut {
				tell = append(tell, func() { f(sink) })
			}
		}
	}
	put := func(lease protocol.Lease) {
		stored := protocol.StoredLease{Lease: lease, Version: version}
		h.leases[lease.Session] = stored
		result = protocol.Result{Outcome: protocol.Done, Lease: stored}
		toAll(func(s hub.Sink) { s.Lease(stored) })
	}
	putRing := func(stored protocol.StoredRing) {
		h.ring = &stored
		result = protocol.Result{Outcome: protocol.Done, Ring: stored}
		toAll(func(s hub.Sink) { s.Ring(stored) })
	}
	switch op := op.(type) {
	case protocol.CreateSession:
		if _, exists := h.leases[op.Lease.Session]; exists {
			return protocol.Result{Outcome: protocol.Exists}, nil
		}
		put(op.Lease)
	case protocol.WriteSession:
		old, exists := h.leases[op.Lease.Session]
		switch {
		case !exists:
			return protocol.Result{Outcome: protocol.Missing}, nil
		case old.Version != op.Version:
			return protocol.Result{Outcome: protocol.Conflict}, nil
		}
		put(op.Lease)
	case protocol.ReadSession:
		old, exists := h.leases[op.Session]
		if !exists {
			return protocol.Result{Outcome: protocol.Missing}, nil
		}
		return protocol.Result{Outcome: protocol.Done, Lease: old}, nil
	case protocol.DeleteSession:
		delete(h.leases, op.Session)
		toAll(func(s hub.Sink) { s.LeaseDeleted(op.Session) })
		result.Outcome = protocol.Done
	case protocol.ReadRing:
		if h.ring == nil {
			return protocol.Result{Outcome: protocol.Missing}, nil
		}
		return protocol.Result{Outcome: protocol.Done, Ring: *h.ring}, nil
	case protocol.CreateRing:
		if h.ring != nil {
			return protocol.Result{Outcome: protocol.Exists}, nil
		}
		putRing(protocol.StoredRing{Ring: op.Ring, Version: version})
	case protocol.WriteRing:
		switch {
		case h.ring == nil:
			return protocol.Result{Outcome: protocol.Missing}, nil
		case h.ring.Version != op.Version:
			return protocol.Result{Outcome: protocol.Conflict}, nil
		}
		putRing(protocol.StoredRing{Ring: op.Ring, Version: version})
	}
	return result, tell
}

func (l *link) Watch(ctx context.Context, sink hub.Sink) {
	l.mu.Lock()
	l.sinks[l] = sink
	l.mu.Unlock()
	l.list(sink)
	<-ctx.Done()
	l.mu.Lock()
	delete(l.sinks, l)
	l.mu.Unlock()
}

func (l *link) list(sink hub.Sink) {
	l.mu.Lock()
	all := make([]protocol.StoredLease, 0, len(l.leases))
	for _, lease := range l.leases {
		all = append(all, lease)
	}
	ring, cut := l.ring, l.cut
	l.mu.Unlock()
	if cut {
		return
	}
	sink.Leases(all)
	if ring != nil {
		sink.Ring(*ring)
	}
}

func (l *link) Relist() {
	l.mu.Lock()
	sink := l.sinks[l]
	l.mu.Unlock()
	if sink != nil {
		go l.list(sink)
	}
}
