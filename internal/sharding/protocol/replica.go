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
	// Buckets and Hash are the ring's; see ring.Settings.
	Buckets int
	Hash    string
	// Boot and Host go into the Lease.
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

	// renewed and verified are the instants before the last successful renewal, and read of the ring, were sent.
	renewed, verified instantOrNever
	// lapsed is true from the end of validity to its return.
	lapsed bool
	// validSince is when validity began that has not been interrupted since.
	validSince Instant

	view view
	// freshEnd is when a new ring was last seen from which nothing might be taken yet.
	freshEnd instantOrNever
	locks    []lock
	leader   lock
	peers    map[string]*peer
	listed   bool
	// vanished is when a Lease was last seen to be gone whose session was not known to be over.
	vanished Instant

	flights [lanes]*flight
	due     [lanes]time.Duration // monotonic; when the lane may send its next request
	// verifyAgain is true when somebody asked for the ring while it was being read.
	verifyAgain bool
	changes     Changes
	// These say to a person what keeps the replica from working; "" is nothing.
	sessionProblem, ringProblem, writeProblem string
	// missed is true when somebody was turned away because validity had ended.
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

// lock is one lock as this replica holds it.
type lock struct {
	bucket int
	held   bool
	// number is that of the last claim.
	number int64
	// yielding locks let nobody in and are released when idle.
	yielding bool
	// tokens that are out.
	tokens int
	// free is since when nobody alive has held it, as far as this replica saw.
	free instantOrNever
}

// Changes tell what happened since the last Take.
type Changes struct {
	// Gained buckets were claimed, or may be acted upon again after validity was lost: whatever is due for their objects has
	// to be looked at now.
	Gained []int
	// Lost buckets may be another replica's from now on. Buckets whose validity alone has ended are not among them.
	Lost []int
	// Peers is true when what others publish, the set of sessions or the leader may have changed.
	Peers bool
	// Leading is true when Leading may have changed.
	Leading bool
	// Dead are sessions that were fenced or have ended.
	Dead []string
	// Relist asks for all Leases to be listed now.
	Relist bool
	// Took are the dead sessions that buckets were taken from.
	Took []Takeover
	// Refuted are sessions that had been called dead by DeathProven and went on living.
	Refuted []string
	// Lapsed is true when validity has ended for lack of a renewal, and Regained when it is back after that.
	Lapsed, Regained bool
	// Fenced is true when this replica has lost its session.
	Fenced bool
}

// Takeover is the taking of buckets from one dead session.
type Takeover struct {
	Session string
	// Silent is how long the buckets had no owner, as far as this replica can tell: from the last sign of life on.
	Silent time.Duration
	// DeathProven is true when whoever fenced the session did so on a proof of death.
	DeathProven bool
}

// New returns a replica that has no session yet and does nothing before Ready is called but keep one.
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
		ringProblem: "the ring has not been read yet",
	}
}

// Ready lets the replica take buckets. It must be called when whatever serves them is warm.
func (r *Replica) Ready() {
	if r.state == Starting {
		r.state = Ready
		r.renewNow()
	}
}

// Drain makes the replica give up what it holds, as soon as it is idle. It cannot be undone.
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

// Joined reports whether the others have been told that this replica takes buckets, or already gives them up again.
func (r *Replica) Joined() bool {
	return r.session.published == Ready || r.session.published == Draining
}

// Drained reports whether everything has been given up and the session has ended.
func (r *Replica) Drained() bool { return r.state == Draining && r.session.ended }

// Publish replaces an entry of what this replica tells the others; an empty value removes it.
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

// Session is the name of the present session.
func (r *Replica) Session() string { return r.session.name }

// Problem says why the replica takes no buckets, "" if it may.
func (r *Replica) Problem() string {
	return cmp.Or(r.ringProblem, r.sessionProblem, r.writeProblem)
}

// Take returns and clears what happened.
func (r *Replica) Take() Changes {
	c := r.changes
	r.changes = Changes{}
	return c
}

// Left is how much validity is left; negative when it is over.
func (r *Replica) Left(now Instant) time.Duration {
	if !r.renewed.ever || !r.verified.ever || r.session.version == "" {
		return -1
	}
	v := r.cfg.Timings.Validity
	return min(now.left(r.renewed.Add(v)), now.left(r.verified.Add(v)))
}

// Valid reports whether the replica may act on what it holds.
func (r *Replica) Valid(now Instant) bool { return r.Left(now) > 0 }

// leaseValid is Valid without regard to the ring, for when there is none.
func (r *Replica) leaseValid(now Instant) bool {
	return r.session.version != "" && r.renewed.ever && now.left(r.renewed.Add(r.cfg.Timings.Validity)) > 0
}

// extend runs change, which may lengthen validity, and notices when validity begins anew.
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

// Holds reports whether the replica holds a bucket and may act on it.
func (r *Replica) Holds(now Instant, bucket int) bool {
	if !r.locks[bucket].held || r.locks[bucket].yielding {
		return false
	}
	valid := r.Valid(now)
	r.missed = r.missed || !valid
	return valid
}

// HeldBuckets returns the buckets that Holds is true for. Asking turns nobody away.
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

// Leading reports whether the replica does what must be done once.
func (r *Replica) Leading(now Instant) bool { return r.leader.held && r.Valid(now) }

// Held is the number of buckets that the replica holds.
func (r *Replica) Held() int {
	n := 0
	for b := range r.locks {
		if r.locks[b].held {
			n++
		}
	}
	return n
}

// lose takes a lock away.
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
