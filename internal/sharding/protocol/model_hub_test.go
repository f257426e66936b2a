package protocol

import (
	"maps"
	"strconv"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/ring"
)

// hub is a linearizable store of Leases and one shard map.
type hub struct {
	sim *sim
	// revision of the last write.
	revision int64
	leases   map[string]StoredLease
	// ring is nil if no shard map exists; damaged if it is unreadable.
	ring    *StoredRing
	damaged bool
	// log of the events that watches deliver.
	log [kinds][]change
}

// kind of the watched objects.
type kind int

const (
	leaseKind kind = iota
	ringKind
	kinds
)

// change is one event of a watch.
type change struct {
	lease StoredLease
	gone  bool
	// ring is nil if the shard map is missing or unreadable.
	ring *StoredRing
}

// image is the content of a backup.
type image struct {
	revision int64
	leases   map[string]StoredLease
	ring     *StoredRing
	damaged  bool
}

func (h *hub) image() image {
	return image{revision: h.revision, leases: maps.Clone(h.leases), ring: h.ring, damaged: h.damaged}
}

// restore reverts to a backup, including all versions. All watches end.
func (h *hub) restore(from image, versions bool) {
	h.leases, h.ring, h.damaged = maps.Clone(from.leases), from.ring, from.damaged
	if versions {
		h.revision = from.revision
	}
	for _, p := range h.sim.processes {
		for k := range p.streams {
			p.streams[k].breakOff()
		}
	}
}

func (h *hub) next() string {
	h.revision++
	return strconv.FormatInt(h.revision, 10)
}

func (h *hub) tell(k kind, c change) {
	h.log[k] = append(h.log[k], c)
	for _, p := range h.sim.processes {
		if !p.dead {
			p.streams[k].follow()
		}
	}
}

func (h *hub) storeLease(l Lease) StoredLease {
	stored := StoredLease{Lease: l, Version: h.next()}
	h.leases[l.Session] = stored
	h.tell(leaseKind, change{lease: stored})
	return stored
}

func (h *hub) deleteLease(name string) {
	lease, found := h.leases[name]
	if !found {
		return
	}
	h.sim.tell("lease: %s is deleted", name)
	h.next()
	delete(h.leases, name)
	h.tell(leaseKind, change{lease: lease, gone: true})
}

func (h *hub) storeRing(r ring.Ring) StoredRing {
	h.sim.record.ringWritten(h.sim, h.ring, r)
	h.ring, h.damaged = &StoredRing{Ring: r, Version: h.next()}, false
	h.tell(ringKind, change{ring: h.ring})
	return *h.ring
}

func (h *hub) deleteRing() {
	h.next()
	h.ring, h.damaged = nil, false
	h.tell(ringKind, change{})
}

// damageRing simulates a manual edit.
func (h *hub) damageRing() {
	if h.ring == nil {
		return
	}
	h.ring = &StoredRing{Ring: h.ring.Ring, Version: h.next()}
	h.damaged = true
	h.tell(ringKind, change{})
}

// do executes a request.
func (h *hub) do(op Op) Result {
	switch op := op.(type) {
	case CreateSession:
		if _, found := h.leases[op.Lease.Session]; found {
			return Result{Outcome: Exists}
		}
		h.sim.record.leaseWritten(h.sim, op.Lease)
		return Result{Outcome: Done, Lease: h.storeLease(op.Lease)}
	case WriteSession:
		if outcome := h.compare(op.Lease.Session, op.Version); outcome != Done {
			return Result{Outcome: outcome}
		}
		h.sim.record.leaseWritten(h.sim, op.Lease)
		return Result{Outcome: Done, Lease: h.storeLease(op.Lease)}
	case ReadSession:
		lease, found := h.leases[op.Session]
		if !found {
			return Result{Outcome: Missing}
		}
		return Result{Outcome: Done, Lease: lease}
	case DeleteSession:
		outcome := h.compare(op.Session, op.Version)
		if outcome == Done {
			h.deleteLease(op.Session)
		}
		return Result{Outcome: outcome}
	case ReadRing:
		switch {
		case h.ring == nil:
			return Result{Outcome: Missing}
		case h.damaged:
			return Result{Outcome: Invalid, Ring: StoredRing{Version: h.ring.Version}}
		}
		return Result{Outcome: Done, Ring: *h.ring}
	case CreateRing:
		if h.ring != nil {
			return Result{Outcome: Exists}
		}
		return Result{Outcome: Done, Ring: h.storeRing(op.Ring)}
	case WriteRing:
		switch {
		case h.ring == nil:
			return Result{Outcome: Missing}
		case h.ring.Version != op.Version:
			return Result{Outcome: Conflict}
		}
		return Result{Outcome: Done, Ring: h.storeRing(op.Ring)}
	}
	panic("no such request")
}

func (h *hub) compare(session, version string) Outcome {
	lease, found := h.leases[session]
	switch {
	case !found:
		return Missing
	case lease.Version != version:
		return Conflict
	}
	return Done
}

// list is a complete list of one kind, and the start of its watch.
type list struct {
	leases []StoredLease
	ring   *StoredRing
	cursor int
}

func (h *hub) list(k kind) list {
	l := list{cursor: len(h.log[k])}
	if k == leaseKind {
		for _, name := range sortedKeys(h.leases) {
			l.leases = append(l.leases, h.leases[name])
		}
	} else if !h.damaged {
		l.ring = h.ring
	}
	return l
}

// network between the processes and the hub.
type network struct {
	// downUntil: no process reaches the hub. slowUntil: each response takes slow longer.
	downUntil, slowUntil time.Duration
}

// slow is the response time of a slow hub.
const slow = 2500 * time.Millisecond
