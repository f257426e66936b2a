package shardingtest

import (
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/hub"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/protocol"
)

// Hub stores sessions and the shard map in memory.
type Hub struct {
	mu    sync.Mutex
	state Backup
	links []*Link
	log   []Event
}

// Backup is the whole content of a hub.
type Backup struct {
	version int
	leases  map[string]protocol.StoredLease
	ring    *protocol.StoredRing
}

// Event is a change of the content of a hub. Exactly one of its fields other than At is set.
type Event struct {
	At time.Time
	// Lease was written.
	Lease *protocol.StoredLease
	// Deleted is the session whose Lease was deleted.
	Deleted string
	// Ring was written.
	Ring *protocol.StoredRing
	// NoRing is true if the shard map was deleted.
	NoRing bool
}

// aboutSessions reports whether the event belongs to the watch of sessions.
func (e Event) aboutSessions() bool { return e.Lease != nil || e.Deleted != "" }

func (e Event) tell(sink hub.Sink) {
	switch {
	case e.Lease != nil:
		sink.Lease(*e.Lease)
	case e.Deleted != "":
		sink.LeaseDeleted(e.Deleted)
	case e.Ring != nil:
		sink.Ring(*e.Ring)
	default:
		sink.RingDeleted()
	}
}

// NewHub returns an empty hub.
func NewHub() *Hub {
	return &Hub{state: Backup{leases: map[string]protocol.StoredLease{}}}
}

// Log returns all changes so far, independent of watches.
func (h *Hub) Log() []Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.log)
}

// Backup returns the current content.
func (h *Hub) Backup() Backup {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.copy()
}

func (h *Hub) copy() Backup {
	b := h.state
	b.leases = maps.Clone(b.leases)
	return b
}

// Restore restores a backup, as if etcd's data were replaced: versions continue from the backup, and watches break without an
// event.
func (h *Hub) Restore(b Backup) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.state = b
	h.state.leases = maps.Clone(b.leases)
	if b.ring == nil {
		h.log = append(h.log, Event{At: time.Now(), NoRing: true})
	} else {
		h.log = append(h.log, Event{At: time.Now(), Ring: b.ring})
	}
	for _, l := range h.links {
		l.breakWatches()
	}
}

// DeleteLeases deletes the Leases of all sessions and returns their names.
func (h *Hub) DeleteLeases() (sessions []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	sessions = slices.Sorted(maps.Keys(h.state.leases))
	for _, session := range sessions {
		h.drop(session)
	}
	return sessions
}

// DeleteRing deletes the shard map.
func (h *Hub) DeleteRing() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.state.version++
	h.state.ring = nil
	h.tell(Event{NoRing: true})
}

// tell sends an event to all watches. The caller holds the lock.
func (h *Hub) tell(e Event) {
	e.At = time.Now()
	h.log = append(h.log, e)
	for _, l := range h.links {
		l.push(e)
	}
}

func (h *Hub) drop(session string) {
	h.state.version++
	delete(h.state.leases, session)
	h.tell(Event{Deleted: session})
}

func (h *Hub) put(lease protocol.Lease) protocol.Result {
	h.state.version++
	stored := protocol.StoredLease{Lease: lease, Version: strconv.Itoa(h.state.version)}
	h.state.leases[lease.Session] = stored
	h.tell(Event{Lease: &stored})
	return protocol.Result{Outcome: protocol.Done, Lease: stored}
}

func (h *Hub) putRing(stored protocol.StoredRing) protocol.Result {
	h.state.version++
	stored.Version = strconv.Itoa(h.state.version)
	h.state.ring = &stored
	h.tell(Event{Ring: &stored})
	return protocol.Result{Outcome: protocol.Done, Ring: stored}
}

func (h *Hub) carryOut(op protocol.Op) protocol.Result {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch op := op.(type) {
	case protocol.CreateSession:
		if _, exists := h.state.leases[op.Lease.Session]; exists {
			return protocol.Result{Outcome: protocol.Exists}
		}
		return h.put(op.Lease)
	case protocol.WriteSession:
		if outcome := h.compare(op.Lease.Session, op.Version); outcome != protocol.Done {
			return protocol.Result{Outcome: outcome}
		}
		return h.put(op.Lease)
	case protocol.ReadSession:
		if stored, exists := h.state.leases[op.Session]; exists {
			return protocol.Result{Outcome: protocol.Done, Lease: stored}
		}
	case protocol.DeleteSession:
		if outcome := h.compare(op.Session, op.Version); outcome != protocol.Done {
			return protocol.Result{Outcome: outcome}
		}
		h.drop(op.Session)
		return protocol.Result{Outcome: protocol.Done}
	case protocol.ReadRing:
		if h.state.ring != nil {
			return protocol.Result{Outcome: protocol.Done, Ring: *h.state.ring}
		}
	case protocol.CreateRing:
		if h.state.ring != nil {
			return protocol.Result{Outcome: protocol.Exists}
		}
		return h.putRing(protocol.StoredRing{Ring: op.Ring})
	case protocol.WriteRing:
		switch {
		case h.state.ring == nil:
		case h.state.ring.Version != op.Version:
			return protocol.Result{Outcome: protocol.Conflict}
		default:
			return h.putRing(protocol.StoredRing{Ring: op.Ring})
		}
	}
	return protocol.Result{Outcome: protocol.Missing}
}

func (h *Hub) compare(session, version string) protocol.Outcome {
	switch stored, exists := h.state.leases[session]; {
	case !exists:
		return protocol.Missing
	case stored.Version != version:
		return protocol.Conflict
	}
	return protocol.Done
}
