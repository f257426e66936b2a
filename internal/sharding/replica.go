package sharding

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/codeconnect/vmgroup-operator/internal/seldom"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/hub"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/protocol"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/ring"
)

// Hub stores the sessions and the shard map. *hub.Client implements it.
type Hub interface {
	// Do sends one request, once.
	Do(ctx context.Context, op protocol.Op) protocol.Result
	// Watch reports all sessions and the shard map to sink until ctx ends.
	Watch(ctx context.Context, sink hub.Sink)
	// Relist makes Watch list everything now. It does not block.
	Relist()
}

// Options of a Replica. All fields are required.
type Options struct {
	Hub     Hub
	Timings protocol.Timings
	// Buckets is the number of buckets, the same for all replicas.
	Buckets int
	// Boot is unique to this run of the process; Host names its Pod for display.
	Boot, Host string
	// NewSession returns names that were never used before.
	NewSession func() string
	// Random returns a number in [0, 1).
	Random func() float64
	Clock  protocol.Clock
	Log    logr.Logger
}

// failuresInterval is the least time between log lines about failed requests to the hub.
const failuresInterval = 30 * time.Second

// startsWithin is how long a replica that starts has no problem that needs a person: it reads the shard map, or makes the first one.
const startsWithin = 30 * time.Second

// Replica is this process as one of those that share the work. It is safe for concurrent use.
type Replica struct {
	opts    Options
	counted *counts
	// wake ends the wait of Run; it holds one wake-up.
	wake chan struct{}

	failures seldom.Told[struct{}]

	// began is the start of Run.
	began protocol.Instant

	mu sync.Mutex
	// problem is the last one that was logged.
	problem string
	state   *protocol.Replica
	// changed is closed and replaced whenever any state possibly changed.
	changed chan struct{}
	tokens  map[*token]struct{}
}

var (
	_ Gate   = &Replica{}
	_ Leader = &Replica{}
)

// New returns a Replica that does nothing before Run. It fails if the timings contradict each other.
func New(opts Options) (*Replica, error) {
	if err := opts.Timings.Check(); err != nil {
		return nil, err
	}
	if opts.Buckets < 1 {
		return nil, errors.New("a shard map needs at least one bucket")
	}
	return &Replica{
		opts: opts, counted: newCounts(),
		wake: make(chan struct{}, 1), changed: make(chan struct{}), tokens: map[*token]struct{}{},
		state: protocol.New(protocol.Config{
			Timings: opts.Timings, Buckets: opts.Buckets, Hash: ring.HashName, Boot: opts.Boot, Host: opts.Host,
			NewSession: opts.NewSession, Random: opts.Random,
		}),
	}, nil
}

// Run maintains the session and the buckets until ctx ends, and passes changes to listener. It does not release buckets
// at the end; see Drain.
func (r *Replica) Run(ctx context.Context, listener Listener) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	wg.Go(func() { r.opts.Hub.Watch(ctx, sink{r}) })
	r.began = r.opts.Clock()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		requests, wait, changes := r.step()
		for _, request := range requests {
			wg.Go(func() { r.send(ctx, request) })
		}
		r.tell(changes, listener)
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			r.do(func(protocol.Instant) {}) // ends the tokens whose validity is over
			return nil
		case <-r.wake:
		case <-timer.C:
		}
	}
}

// step gets the next requests from the protocol, and ends the tokens that are over.
func (r *Replica) step() (requests []protocol.Request, wait time.Duration, changes protocol.Changes) {
	r.do(func(now protocol.Instant) {
		var wake time.Duration
		requests, wake = r.state.Next(now)
		changes = r.state.Take()
		wait = max(0, wake-now.Mono)
	})
	return requests, wait, changes
}

// do runs f with the lock, then ends the tokens that are over and wakes goroutines that wait for a change.
func (r *Replica) do(f func(now protocol.Instant)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.opts.Clock()
	f(now)
	for t := range r.tokens {
		if !r.state.Alive(now, t.right) {
			t.cancel(protocol.ErrLost)
		}
	}
	close(r.changed)
	r.changed = make(chan struct{})
}

// change runs f with the lock and wakes Run to handle the result.
func (r *Replica) change(f func(now protocol.Instant)) {
	r.do(f)
	r.poke()
}

func (r *Replica) poke() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func (r *Replica) send(ctx context.Context, request protocol.Request) {
	requestCtx, cancel := context.WithTimeout(ctx, request.Timeout)
	defer cancel()
	result := r.opts.Hub.Do(requestCtx, request.Op)
	failed := result.Outcome == protocol.Unknown || result.Outcome == protocol.Refused || result.Outcome == protocol.Invalid
	if failed && ctx.Err() == nil {
		if _, tell := r.failures.Next(struct{}{}, time.Now(), failuresInterval); tell {
			r.opts.Log.Error(result.Err, "A request to the hub failed", "request", fmt.Sprintf("%T", request.Op), "outcome", result.Outcome.String())
		}
	}
	r.counted.request(request.Op, result.Outcome)
	r.change(func(now protocol.Instant) { r.state.Complete(now, request.Lane, result) })
}

// tell logs the changes and passes them to listener.
func (r *Replica) tell(c protocol.Changes, listener Listener) {
	log := r.opts.Log
	if problem := r.Problem(); problem != r.problem && r.opts.Clock().Since(r.began) >= startsWithin {
		if r.problem = problem; problem != "" {
			log.Error(errors.New(problem), "This replica takes no share of the work")
		}
	}
	if c.Relist {
		r.opts.Hub.Relist()
	}
	if c.Lapsed {
		log.Error(nil, "The session could not be renewed at the hub: nothing is begun until it is")
	}
	if c.Regained {
		log.Info("The session was renewed; the replica continues")
	}
	if c.Fenced {
		log.Error(nil, "This session was fenced; the replica continues with a new one. Nothing was done since its validity ended", "session", r.Session())
	}
	for _, session := range c.Dead {
		log.Info("A session has ended", "session", session)
	}
	if len(c.Lost) > 0 {
		log.Info("Buckets lost or released", "lost", len(c.Lost), "held", r.Status().Held)
		listener.Lost(c.Lost)
	}
	if len(c.Gained) > 0 {
		log.Info("Buckets gained", "gained", len(c.Gained), "held", r.Status().Held)
		listener.Gained(c.Gained)
	}
	for _, took := range c.Took {
		r.counted.tookOver(took)
		log.Info("Took buckets over from a session that had ended", "session", took.Session,
			"silent", took.Silent.Round(time.Millisecond).String(), "by", reasonOf(took))
	}
	for _, session := range c.Refuted {
		log.Info("A session renewed itself although the status of its Pod says that its process has ended: that is not believed any more, and the "+
			"session is given up when it is silent for the whole takeover timeout. Something writes false statuses, or the runtime lost its state", "session", session)
	}
	if c.Leading {
		listener.LeadershipChanged()
	}
	if c.Peers {
		listener.PeersChanged()
	}
	if len(c.Dead) > 0 {
		listener.SessionsEnded()
	}
}

// Ready allows the replica to take buckets. Call it once the caches of their controllers are warm.
func (r *Replica) Ready() { r.change(func(protocol.Instant) { r.state.Ready() }) }

// Drain releases everything: no new work begins, each bucket is released when it has no calls in flight any more, and
// then the session ends. Buckets with calls in flight after Timings.Drain are not released: they expire. Run must
// continue until Drain has returned. Drain returns an error with what is left, or ctx's error.
func (r *Replica) Drain(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, r.opts.Timings.Drain, errSlow)
	defer cancel()
	r.change(func(protocol.Instant) { r.state.Drain() })
	for {
		r.mu.Lock()
		now := r.opts.Clock()
		drained, left, changed := r.state.Drained(), r.state.Held(), r.changed
		alone := left == 0 && !r.state.Valid(now)
		r.mu.Unlock()
		if drained || alone {
			return nil // if nothing is held, a session that cannot be ended without a hub expires
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%d buckets were not released: %w", left, context.Cause(ctx))
		}
	}
}

var errSlow = errors.New("calls in flight, or the hub, took too long; another replica takes the buckets over when the session has expired")

// Session returns the name of the current session.
func (r *Replica) Session() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.Session()
}

// Leading reports whether this replica does the work that exactly one replica must do. The result can become false at any time: such
// work must be harmless if two replicas do it.
func (r *Replica) Leading() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.Leading(r.opts.Clock())
}

// Joined reports whether the other replicas know that this replica takes its share. A replica that loses its session is not joined until
// it has another one.
func (r *Replica) Joined() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.Joined()
}

// Problem returns a sentence with the reason why the replica takes no buckets, "" if there is no problem.
func (r *Replica) Problem() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.Problem()
}

// Publish replaces an entry that the other replicas see; an empty value removes the entry. It is published within a fraction of the
// renewal interval, and lost with the process.
func (r *Replica) Publish(key, value string) {
	r.change(func(protocol.Instant) { r.state.Publish(key, value) })
}

// Peers returns the sessions that are not known to have ended, including the own one, with their published data.
func (r *Replica) Peers() []protocol.Peer {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.Peers()
}

// BootDead reports whether another process can act no more; false if that is unknown.
func (r *Replica) BootDead(boot string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.BootDead(r.opts.Clock(), boot)
}

// DeathProven reports that the process of a session has ended, as its container's status proves. This shortens the takeover timeout for
// it to Timings.Proven; the session must still be fenced. It returns whether the replica accepts the report; see protocol.Replica.
func (r *Replica) DeathProven(session string) (believed bool) {
	r.change(func(protocol.Instant) { believed = r.state.DeathProven(session) })
	return believed
}

// Unowned returns the buckets that no live session holds, with the time for which this replica has seen that.
func (r *Replica) Unowned() map[int]time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.Unowned(r.opts.Clock())
}

// Status returns the state for metrics.
func (r *Replica) Status() protocol.Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.Status(r.opts.Clock())
}

// sink passes events of the hub's watches to the protocol.
type sink struct{ r *Replica }

func (s sink) Leases(all []protocol.StoredLease) {
	s.r.change(func(now protocol.Instant) { s.r.state.SawLeases(now, all) })
}

func (s sink) Lease(one protocol.StoredLease) {
	s.r.change(func(now protocol.Instant) { s.r.state.SawLease(now, one) })
}

func (s sink) LeaseDeleted(session string) {
	s.r.change(func(now protocol.Instant) { s.r.state.LeaseGone(now, session) })
}

func (s sink) Ring(stored protocol.StoredRing) {
	s.r.change(func(now protocol.Instant) { s.r.state.SawRing(now, stored) })
}

func (s sink) RingDeleted() {
	s.r.change(func(protocol.Instant) { s.r.state.RingGone() })
}

func (s sink) RingInvalid(string, error) {
	s.r.change(func(protocol.Instant) { s.r.state.RingGone() })
}
