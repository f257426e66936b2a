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

// Hub is where the sessions and the ring are stored. *hub.Client implements it.
type Hub interface {
	// Do sends one request, once.
	Do(ctx context.Context, op protocol.Op) protocol.Result
	// Watch tells sink of all sessions and the ring until ctx ends.
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
	// Boot is unique to this run of the process; Host tells people where it runs.
	Boot, Host string
	// NewSession returns names that were never used before.
	NewSession func() string
	// Random returns a number in [0, 1).
	Random func() float64
	Clock  protocol.Clock
	Log    logr.Logger
}

// failuresInterval is how often the log tells at most of a request to the hub that failed.
const failuresInterval = 30 * time.Second

// Replica is this process as one of those that share the work. It is safe for concurrent use.
type Replica struct {
	opts    Options
	counted *counts
	// wake ends the wait of Run; it holds one wake-up.
	wake chan struct{}

	failures seldom.Told[struct{}]

	mu sync.Mutex
	// problem is what was logged last.
	problem string
	state   *protocol.Replica
	// changed is closed and replaced whenever anything may have changed.
	changed chan struct{}
	tokens  map[*token]struct{}
}

var (
	_ Gate   = &Replica{}
	_ Leader = &Replica{}
)

// New returns a Replica that does nothing before Run. It fails when the timings contradict each other.
func New(opts Options) (*Replica, error) {
	if err := opts.Timings.Check(); err != nil {
		return nil, err
	}
	if opts.Buckets < 1 {
		return nil, errors.New("a ring needs at least one bucket")
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

// Run keeps the session and the buckets until ctx ends, and passes changes on to listener. What is held then is not given up; see Drain.
func (r *Replica) Run(ctx context.Context, listener Listener) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	wg.Go(func() { r.opts.Hub.Watch(ctx, sink{r}) })
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

// step asks the protocol what to do next, and ends the tokens that are over.
func (r *Replica) step() (requests []protocol.Request, wait time.Duration, changes protocol.Changes) {
	r.do(func(now protocol.Instant) {
		var wake time.Duration
		requests, wake = r.state.Next(now)
		changes = r.state.Take()
		wait = max(0, wake-now.Mono)
	})
	return requests, wait, changes
}

// do runs f with the lock, then ends the tokens that are over and wakes whoever waits for a change.
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

// change runs f with the lock and lets Run see what follows from it.
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

// tell logs and passes on what happened.
func (r *Replica) tell(c protocol.Changes, listener Listener) {
	log := r.opts.Log
	if problem := r.Problem(); problem != r.problem {
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
		log.Info("The session was renewed: going on")
	}
	if c.Fenced {
		log.Error(nil, "This session was fenced; going on with a new one. Nothing was done since its validity ended", "session", r.Session())
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
			"session is given up when it is silent for its whole patience. Something writes false statuses, or the runtime lost its state", "session", session)
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

// Ready lets the replica take buckets. It is called once whatever serves them is warm.
func (r *Replica) Ready() { r.change(func(protocol.Instant) { r.state.Ready() }) }

// Drain gives up everything: nothing new is begun, each bucket is released when nothing is in flight for it any more,
// and then the session ends. What is still in flight after Timings.Drain is not released: it expires. Run must go on
// until Drain has returned. It returns an error that says what was left, or ctx's.
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
			return nil // with nothing held, a session that cannot be ended for want of a hub ends by itself
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%d buckets were not released: %w", left, context.Cause(ctx))
		}
	}
}

var errSlow = errors.New("calls in flight, or the hub, took too long; another replica takes the buckets over when the session has expired")

// Session is the name of the present session.
func (r *Replica) Session() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.Session()
}

// Leading reports whether this replica does what must be done once. It may end at any time: what is done on the strength
// of it must be harmless when two do it.
func (r *Replica) Leading() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.Leading(r.opts.Clock())
}

// Joined reports whether the others know that this replica takes its share. A replica that loses its session is not, until
// it has another one.
func (r *Replica) Joined() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.Joined()
}

// Problem is a sentence that says why the replica takes no buckets, "" if nothing is wrong.
func (r *Replica) Problem() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.Problem()
}

// Publish replaces an entry of what the other replicas see; an empty value removes it. It is published within
// a fraction of the renewal interval, and lost with the process.
func (r *Replica) Publish(key, value string) {
	r.change(func(protocol.Instant) { r.state.Publish(key, value) })
}

// Peers returns the sessions that are not known to have ended, the own one included, with what they publish.
func (r *Replica) Peers() []protocol.Peer {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.Peers()
}

// BootDead reports whether another process can act no more; false when that is not known.
func (r *Replica) BootDead(boot string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.BootDead(r.opts.Clock(), boot)
}

// DeathProven tells that the process of a session has ended, as its container's status proves. That shortens the
// patience with it to Timings.Proven; it is fenced all the same. It reports whether it is believed; see
// protocol.Replica.
func (r *Replica) DeathProven(session string) (believed bool) {
	r.change(func(protocol.Instant) { believed = r.state.DeathProven(session) })
	return believed
}

// Unowned returns the buckets that nobody alive holds, with the time for which this replica has seen that.
func (r *Replica) Unowned() map[int]time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.Unowned(r.opts.Clock())
}

// Status is what metrics show.
func (r *Replica) Status() protocol.Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.Status(r.opts.Clock())
}

// sink passes on what the hub's watches tell.
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
