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

// Sink is told what the hub holds. What it is told is true at some moment and can be late; the same state may be told
// again. The calls about sessions come from one goroutine in the order of the hub, those about the ring from another.
// A call holds up those that follow it, so it must not block.
type Sink interface {
	// Leases is told all sessions that there are. Those it does not hold are gone.
	Leases(all []protocol.StoredLease)
	// Lease is told a session that is new or changed.
	Lease(one protocol.StoredLease)
	// LeaseDeleted is told that a session's Lease is gone, or is no longer labeled as one.
	LeaseDeleted(session string)
	// Ring is told the ring.
	Ring(stored protocol.StoredRing)
	// RingDeleted is told that there is no ring.
	RingDeleted()
	// RingInvalid is told that the ring cannot be read. err is a *ring.InvalidError.
	RingInvalid(version string, err error)
}

// kind of what is observed.
type kind string

const (
	sessions kind = "sessions"
	theRing  kind = "the ring"
)

const (
	retryShortest = 100 * time.Millisecond
	retryLongest  = 2 * time.Second
)

var errEndedEarly = errors.New("the watch ended before its time")

// observation is how one kind is listed and watched.
type observation struct {
	kind kind
	// list reads everything (quorum), delivers it and returns the version from which to watch.
	list func(ctx context.Context) (version string, err error)
	// open starts a watch that the hub ends after some seconds.
	open func(ctx context.Context, version string, seconds int64) (watch.Interface, error)
	// deliver passes an event on.
	deliver func(event watch.Event) error
}

// Watch keeps sink informed of all sessions and of the ring until ctx ends, and returns when no call to sink is under
// way any more. Failures are retried with growing, jittered delays. It may run once per Client at a time.
func (c *Client) Watch(ctx context.Context, sink Sink) {
	var running sync.WaitGroup
	for _, o := range []observation{c.observeSessions(sink), c.observeRing(sink)} {
		running.Go(func() { c.observe(ctx, o) })
	}
	running.Wait()
}

// Relist makes Watch list at once what it observes. It returns at once; several calls before a list are one.
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
		c.options.Log.V(1).Info("A watch of sessions and the ring failed and is begun again", "kind", string(o.kind), "error", err.Error())
		c.transport.CloseIdleConnections()
		if c.options.Now().Sub(start) > retryLongest {
			failures = 0 // it had worked for a while
		}
		c.pause(ctx, o.kind, retryDelay(failures, c.options.Rand()))
		failures++
	}
}

// pause waits for d, or until a list is asked for.
func (c *Client) pause(ctx context.Context, k kind, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.relist[k]:
	case <-ctx.Done():
	}
}

// retryDelay is between retryShortest and an upper bound that doubles with each failure, up to retryLongest.
func retryDelay(failures int, random float64) time.Duration {
	upper := min(retryShortest<<min(failures+1, 10), retryLongest)
	return retryShortest + time.Duration(random*float64(upper-retryShortest))
}

// round lists and then watches until the next list is due or asked for.
func (c *Client) round(ctx context.Context, o observation) error {
	select {
	case <-c.relist[o.kind]: // this is the list that was asked for
	default:
	}
	version, err := c.listWithin(ctx, o)
	if err != nil {
		return err
	}
	start := c.options.Now()
	// The hub ends the watch in time. If nothing is heard of that, the connection is dead.
	ctx, cancel := context.WithTimeout(ctx, c.options.Relist+c.margin())
	var waiting sync.WaitGroup
	defer waiting.Wait() // so that it does not take a request that is meant for the next round
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

// margin is how much later than the hub this side ends a watch.
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
