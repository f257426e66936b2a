package protocol

import (
	"cmp"
	"maps"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/ring"
)

// Config of a Replica. All fields are required.
type Config struct {
	Timings Timings
	// Buckets and Hash are those of the shard map; see ring.Settings.
	Buckets int
	Hash    string
	// Boot and Host are written into the Lease.
	Boot, Host string
	// NewSession returns a name that was never used before.
	NewSession func() string
	// Random returns a number in [0, 1).
	Random func() float64
}

// Replica is the state of one replica. It is not safe for concurrent use.
type Replica struct {
	cfg      Config
	settings ring.Settings

	state     State
	session   session
	published map[string]string

	// renewed and verified are the instants before the last successful renewal, and read of the shard map, were sent.
	renewed, verified instantOrNever
	// lapsed is true from the end of validity to its return.
	lapsed bool
	// validSince is when the current uninterrupted validity began.
	validSince Instant

	view view
	// freshEnd is when the replica last saw a new shard map from which no bucket could be taken yet.
	freshEnd instantOrNever
	locks    []lock
	leader   lock
	peers    map[string]*peer
	listed   bool
	// vanished is when a Lease was last found missing whose session was not known to have ended.
	vanished Instant

	flights [lanes]*flight
	due     [lanes]time.Duration // monotonic; when the lane can send its next request
	// verifyAgain is true if a read of the shard map was requested while another one was in progress.
	verifyAgain bool
	changes     Changes
	// These describe problems that keep the replica from working; "" means none.
	sessionProblem, ringProblem, writeProblem string
	// missed is true if work was refused because validity had ended.
	missed bool
}

type instantOrNever struct {
	Instant
	ever bool
}

func (i *instantOrNever) set(at Instant) {
	if !i.ever || at.Mono > i.Mono {
		i.Instant, i.ever = at, true
	}
}

type lock struct {
	bucket int
	held   bool
	number int64
	// yielding locks grant no new tokens and are released when idle.
	yielding bool
	// tokens is the number of tokens in use.
	tokens int
	// free is the time since which no live session has held it, as far as this replica saw.
	free instantOrNever
}

// Changes describe what happened since the last Take.
type Changes struct {
	// Gained buckets were claimed, or can be acted upon again after validity was lost: all due objects of these buckets must
	// be reconciled now.
	Gained []int
	// Lost buckets can belong to another replica from now on. Buckets whose validity alone has ended are not included.
	Lost []int
	// Peers is true if the published data of others, the set of sessions or the leader possibly changed.
	Peers bool
	// Leading is true if Leading possibly changed.
	Leading bool
	// Dead are sessions that were fenced or have ended.
	Dead []string
	// Relist requests a list of all Leases.
	Relist bool
	// Took are the dead sessions from which buckets were taken.
	Took []Takeover
	// Refuted are sessions that DeathProven had reported dead and that stayed alive.
	Refuted []string
	// Lapsed is true if validity has ended without a renewal, and Regained if it returned after that.
	Lapsed, Regained bool
	// Fenced is true if this replica has lost its session.
	Fenced bool
}

// Takeover is a takeover of buckets from one dead session.
type Takeover struct {
	Session string
	// Silent is how long the buckets had no owner, as far as this replica can determine: since the last sign of life.
	Silent time.Duration
	// DeathProven is true if the replica that fenced the session had a proof of death.
	DeathProven bool
}

// New returns a replica that has no session yet. Before Ready is called, it only maintains a session.
func New(cfg Config) *Replica {
	locks := make([]lock, cfg.Buckets)
	for b := range locks {
		locks[b].bucket = b
	}
	return &Replica{
		cfg:   cfg,
		state: Starting,
		settings: ring.Settings{
			Buckets: cfg.Buckets, Hash: cfg.Hash, Validity: cfg.Timings.Validity, Patience: cfg.Timings.Patience,
		},
		session:     session{name: cfg.NewSession()},
		published:   map[string]string{},
		locks:       locks,
		peers:       map[string]*peer{},
		ringProblem: "the shard map has not been read yet",
	}
}

// Ready allows the replica to take buckets. Call it when the caches of their controllers are warm.
func (r *Replica) Ready() {
	if r.state == Starting {
		r.state = Ready
		r.renewNow()
	}
}

// Drain makes the replica release all buckets as soon as they are idle. It cannot be undone.
func (r *Replica) Drain() {
	if r.state == Draining {
		return
	}
	r.state = Draining
	r.renewNow()
	for b := range r.locks {
		r.locks[b].yielding = r.locks[b].held
	}
}

// Joined reports whether the other replicas know that this replica takes buckets, or that it is draining already.
func (r *Replica) Joined() bool {
	return r.session.published == Ready || r.session.published == Draining
}

// Drained reports whether the replica released all buckets and its session has ended.
func (r *Replica) Drained() bool { return r.state == Draining && r.session.ended }

// Publish replaces an entry of the data that this replica publishes to the others; an empty value removes the entry.
func (r *Replica) Publish(key, value string) {
	if r.published[key] == value {
		return
	}
	r.published = maps.Clone(r.published)
	if value == "" {
		delete(r.published, key)
	} else {
		r.published[key] = value
	}
	r.renewSoon()
	r.changes.Peers = true
}

// Session returns the name of the current session.
func (r *Replica) Session() string { return r.session.name }

// Problem returns the reason why the replica takes no buckets, "" if it can.
func (r *Replica) Problem() string {
	return cmp.Or(r.ringProblem, r.sessionProblem, r.writeProblem)
}

// Take returns and clears the changes.
func (r *Replica) Take() Changes {
	c := r.changes
	r.changes = Changes{}
	return c
}

// Left returns the remaining validity; negative after its end.
func (r *Replica) Left(now Instant) time.Duration {
	if !r.renewed.ever || !r.verified.ever || r.session.version == "" {
		return -1
	}
	v := r.cfg.Timings.Validity
	return min(now.left(r.renewed.Add(v)), now.left(r.verified.Add(v)))
}

// Valid reports whether the replica can act on what it holds.
func (r *Replica) Valid(now Instant) bool { return r.Left(now) > 0 }

// leaseValid is Valid without regard to the shard map, for when there is none.
func (r *Replica) leaseValid(now Instant) bool {
	return r.session.version != "" && r.renewed.ever && now.left(r.renewed.Add(r.cfg.Timings.Validity)) > 0
}

// extend runs change, which can lengthen validity, and records when validity begins anew.
func (r *Replica) extend(now Instant, change func()) {
	was := r.Valid(now)
	change()
	if was || !r.Valid(now) {
		return
	}
	r.missed = false
	r.validSince, r.changes.Regained, r.lapsed = now, r.lapsed, false
	r.changes.Leading, r.changes.Peers = true, true
	r.gainAll()
}

func (r *Replica) gainAll() {
	for b := range r.locks {
		if r.locks[b].held {
			r.changes.Gained = append(r.changes.Gained, b)
		}
	}
}

// Holds reports whether the replica holds a bucket and can act on it.
func (r *Replica) Holds(now Instant, bucket int) bool {
	if !r.locks[bucket].held || r.locks[bucket].yielding {
		return false
	}
	valid := r.Valid(now)
	r.missed = r.missed || !valid
	return valid
}

// HeldBuckets returns the buckets for which Holds is true. It does not set missed.
func (r *Replica) HeldBuckets(now Instant) (held []int) {
	if !r.Valid(now) {
		return nil
	}
	for b := range r.locks {
		if r.locks[b].held && !r.locks[b].yielding {
			held = append(held, b)
		}
	}
	return held
}

// Leading reports whether the replica does the work that exactly one replica must do.
func (r *Replica) Leading(now Instant) bool { return r.leader.held && r.Valid(now) }

// Held returns the number of buckets that the replica holds.
func (r *Replica) Held() int {
	n := 0
	for b := range r.locks {
		if r.locks[b].held {
			n++
		}
	}
	return n
}

func (r *Replica) lose(s *lock) {
	switch {
	case !s.held:
	case s == &r.leader:
		r.changes.Leading, r.changes.Peers = true, true
	default:
		r.changes.Lost = append(r.changes.Lost, s.bucket)
	}
	s.held, s.yielding = false, false
}

func (r *Replica) loseAll() {
	for b := range r.locks {
		r.lose(&r.locks[b])
	}
	r.lose(&r.leader)
}
