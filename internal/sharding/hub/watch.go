package hub

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/protocol"
)

// Sink receives the state of the hub. A reported state was true at some moment, can be late, and can be repeated. The
// calls about sessions come from one goroutine in the order of the hub, those about the shard map from another. A
// call delays the following ones, so it must not block.
type Sink interface {
	// Leases receives all existing sessions. Sessions that are missing from it do not exist any more.
	Leases(all []protocol.StoredLease)
	// Lease receives a session that is new or changed.
	Lease(one protocol.StoredLease)
	// LeaseDeleted reports that a session's Lease was deleted, or lost its label.
	LeaseDeleted(session string)
	// Ring receives the shard map.
	Ring(stored protocol.StoredRing)
	// RingDeleted reports that there is no shard map.
	RingDeleted()
	// RingInvalid reports that the shard map cannot be read. err is a *ring.InvalidError.
	RingInvalid(version string, err error)
}

type kind string

const (
	sessions kind = "sessions"
	theRing  kind = "the shard map"
)

const (
	retryShortest = 100 * time.Millisecond
	retryLongest  = 2 * time.Second
)

var errEndedEarly = errors.New("the watch ended before its time")

// observation specifies how one kind is listed and watched.
type observation struct {
	kind kind
	// list reads everything (quorum), delivers it and returns the version at which the watch must start.
	list func(ctx context.Context) (version string, err error)
	// open starts a watch that the hub ends after some seconds.
	open func(ctx context.Context, version string, seconds int64) (watch.Interface, error)
	// deliver passes an event to the sink.
	deliver func(event watch.Event) error
}

// Watch reports all sessions and the shard map to sink until ctx ends. It returns when no call to sink is in progress
// any more. It retries failures with growing, jittered delays. Only one Watch can run per Client at a time.
func (c *Client) Watch(ctx context.Context, sink Sink) {
	var running sync.WaitGroup
	for _, o := range []observation{c.observeSessions(sink), c.observeRing(sink)} {
		running.Go(func() { c.observe(ctx, o) })
	}
	running.Wait()
}

// Relist makes Watch list at once. It does not block; several calls before a list count as one.
func (c *Client) Relist() {
	for _, asked := range c.relist {
		select {
		case asked <- struct{}{}:
		default:
		}
	}
}

func (c *Client) observe(ctx context.Context, o observation) {
	for failures := 0; ctx.Err() == nil; {
		start := c.options.Now()
		err := c.round(ctx, o)
		if err == nil {
			failures = 0
			continue
		}
		if ctx.Err() != nil {
			return
		}
		c.options.Log.V(1).Info("A watch of sessions and the shard map failed; the operator starts it again", "kind", string(o.kind), "error", err.Error())
		c.transport.CloseIdleConnections()
		if c.options.Now().Sub(start) > retryLongest {
			failures = 0 // it worked for a while
		}
		c.pause(ctx, o.kind, retryDelay(failures, c.options.Rand()))
		failures++
	}
}

// pause waits for d, or until a list is requested.
func (c *Client) pause(ctx context.Context, k kind, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.relist[k]:
	case <-ctx.Done():
	}
}

// retryDelay returns a delay between retryShortest and an upper limit that doubles with each failure, up to
// retryLongest.
func retryDelay(failures int, random float64) time.Duration {
	upper := min(retryShortest<<min(failures+1, 10), retryLongest)
	return retryShortest + time.Duration(random*float64(upper-retryShortest))
}

// round lists and then watches until the next list is due or requested.
func (c *Client) round(ctx context.Context, o observation) error {
	select {
	case <-c.relist[o.kind]: // this is the requested list
	default:
	}
	version, err := c.listWithin(ctx, o)
	if err != nil {
		return err
	}
	start := c.options.Now()
	// The hub ends the watch in time. If that does not arrive, the connection is dead.
	ctx, cancel := context.WithTimeout(ctx, c.options.Relist+c.margin())
	var waiting sync.WaitGroup
	defer waiting.Wait() // so that it does not take a request for the next round
	defer cancel()
	waiting.Go(func() {
		select {
		case <-c.relist[o.kind]:
			cancel()
		case <-ctx.Done():
		}
	})
	err = follow(ctx, o, version, c.options.Relist)
	if ctx.Err() != nil {
		return nil
	}
	if errors.Is(err, errEndedEarly) && c.options.Now().Sub(start) >= c.options.Relist {
		return nil
	}
	return err
}

func (c *Client) listWithin(ctx context.Context, o observation) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.Request)
	defer cancel()
	version, err := o.list(ctx)
	if err != nil {
		return "", fmt.Errorf("list: %w", err)
	}
	return version, nil
}

// margin is how much later than the hub this client ends a watch.
func (c *Client) margin() time.Duration { return c.options.Relist / 5 }

// follow delivers events until the watch ends, which is always an error.
func follow(ctx context.Context, o observation, version string, period time.Duration) error {
	events, err := o.open(ctx, version, int64((period+time.Second-1)/time.Second))
	if err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	defer events.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case event, open := <-events.ResultChan():
			if !open {
				return errEndedEarly
			}
			if err := o.deliver(event); err != nil {
				return fmt.Errorf("watch: %w", err)
			}
		}
	}
}
