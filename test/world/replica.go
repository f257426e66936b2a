package world

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/codeconnect/vmgroup-operator/internal/sharding"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/protocol"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/shardingtest"
)

// Replica is a process that takes its share of the work.
type Replica struct {
	*sharding.Replica
	Process *shardingtest.Process
	Link    *shardingtest.Link
	// Name of the replica, and Boot of its current run.
	Name, Boot string

	world *World
	wire  *wire
	work  work
	// killed and terminated are closed by Kill and Terminate. done is closed when the process has ended.
	killed, terminated, done chan struct{}
	// Drained is the result of Drain, after done is closed.
	Drained error
	// Ended is the time of the process's end.
	Ended time.Time

	mu sync.Mutex
	// gains and losses count buckets.
	gains, losses int
	// passes counts the started passes over groups.
	passes int
}

// Passes returns the number of started passes over groups.
func (r *Replica) Passes() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.passes
}

// work is a replica's work on its buckets.
type work interface {
	// set prepares the work, before the replica runs.
	set(r *Replica) error
	// gained and lost receive the replica's calls as a sharding.Listener.
	gained(buckets []int)
	lost(buckets []int)
	// run works until ctx ends.
	run(ctx context.Context, r *Replica)
}

// Option of a replica.
type Option func(*config)

type config struct {
	rate    float64
	buckets int
	timings protocol.Timings
}

// Rate makes the replica's clocks run at a rate.
func Rate(rate float64) Option { return func(c *config) { c.rate = rate } }

// Buckets sets another number of buckets for the replica.
func Buckets(n int) Option { return func(c *config) { c.buckets = n } }

// Start starts a replica. The name of an ended replica can be used again.
func (w *World) Start(name string, options ...Option) *Replica {
	w.t.Helper()
	c := config{rate: 1, buckets: buckets, timings: protocol.DefaultTimings()}
	for _, option := range options {
		option(&c)
	}
	w.boots++
	process := shardingtest.NewProcess(c.rate)
	r := &Replica{
		Process: process, Link: w.Hub.Link(process), Name: name, Boot: fmt.Sprintf("%s-boot-%d", name, w.boots),
		world: w, killed: make(chan struct{}), terminated: make(chan struct{}), done: make(chan struct{}),
	}
	r.wire = &wire{w.VCenter, r}
	var err error
	r.Replica, err = sharding.New(sharding.Options{
		Hub: r.Link, Timings: c.timings, Buckets: c.buckets, Boot: r.Boot, Host: name,
		NewSession: w.newSession(name), Random: w.float, Clock: process.Clock, Log: logr.Discard(),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	r.work = w.work()
	if err := r.work.set(r); err != nil {
		w.t.Fatal(err)
	}
	w.replicas = append(w.replicas, r)
	go r.run(w.ctx)
	return r
}

// run does the same as Operator.Run of internal/operator, without webhooks.
func (r *Replica) run(ctx context.Context) {
	ringCtx, endRing := context.WithCancel(ctx)
	workCtx, endWork := context.WithCancel(ctx)
	defer endRing()
	var ring, working sync.WaitGroup
	ring.Go(func() { _ = r.Run(ringCtx, r) })
	working.Go(func() { r.work.run(workCtx, r) })
	r.Ready()
	select {
	case <-r.killed:
	case <-ctx.Done():
	case <-r.terminated:
		r.Drained = r.Drain(r.untilKilled(workCtx))
		endWork()
		working.Wait()
		last, cancel := context.WithTimeout(r.untilKilled(ringCtx), 3*time.Second)
		defer cancel()
		_ = r.Drain(last)
	}
	endWork()
	endRing()
	working.Wait()
	ring.Wait()
	r.world.VCenter.unsubscribe(r)
	r.Ended = time.Now()
	close(r.done)
}

// untilKilled returns a context that ends when the process is killed.
func (r *Replica) untilKilled(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		select {
		case <-r.killed:
		case <-r.done:
		case <-ctx.Done():
		}
	}()
	return ctx
}

// Kill is SIGKILL.
func (r *Replica) Kill() {
	r.Process.Kill()
	close(r.killed)
	<-r.done
}

// Terminate is SIGTERM. Done reports the end.
func (r *Replica) Terminate() {
	if !r.ended() {
		close(r.terminated)
	}
}

// ended reports whether the process received SIGTERM.
func (r *Replica) ended() bool {
	select {
	case <-r.terminated:
		return true
	default:
		return false
	}
}

// Done is closed when the process has ended.
func (r *Replica) Done() <-chan struct{} { return r.done }

// Alive reports whether the process has not ended.
func (r *Replica) Alive() bool {
	select {
	case <-r.done:
		return false
	default:
		return true
	}
}

// Stop is SIGSTOP.
func (r *Replica) Stop() {
	r.Process.Stop()
	r.world.VCenter.hold(r)
}

// Continue is SIGCONT.
func (r *Replica) Continue() { r.Process.Continue() }

// Gained implements sharding.Listener, as the following methods do.
func (r *Replica) Gained(buckets []int) {
	r.count(len(buckets), 0)
	r.work.gained(buckets)
}

// Lost counts buckets that another replica can take.
func (r *Replica) Lost(buckets []int) {
	r.count(0, len(buckets))
	r.work.lost(buckets)
}

// LeadershipChanged does nothing, because no work depends on the leader.
func (*Replica) LeadershipChanged() {}

// PeersChanged does nothing.
func (*Replica) PeersChanged() {}

// SessionsEnded does nothing.
func (*Replica) SessionsEnded() {}

func (r *Replica) count(gained, lost int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gains += gained
	r.losses += lost
}

// Changes returns the numbers of gained and lost buckets since the last call.
func (r *Replica) Changes() (gained, lost int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	gained, lost = r.gains, r.losses
	r.gains, r.losses = 0, 0
	return gained, lost
}
