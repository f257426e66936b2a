//go:build unix

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/delay"
)

// count contains the product's requests and resource usage up to a moment.
type count struct {
	at time.Time
	// listing are the calls that read the whole root folder, wait for its changes, or check the connection. other are all other calls.
	listing, other int
	// writes are writes on groups in members. Writes on the hub only record occasionally when a member answered last.
	writes writes
	usage  usage
}

func (r *rig) count(ctx context.Context) (count, error) {
	c := count{at: time.Now()}
	for call, n := range r.Proxy.Calls() {
		if !strings.HasPrefix(call.UserAgent, productAgent) {
			continue
		}
		switch call.Method {
		case "", "CreateContainerView", "RetrievePropertiesEx", "ContinueRetrievePropertiesEx", "DestroyView", "WaitForUpdatesEx":
			c.listing += n
		default:
			c.other += n
		}
	}
	var err error
	if c.writes, _, err = r.writesByPlace(ctx); err != nil {
		return c, err
	}
	c.usage, err = readUsage(r.Manager.PID())
	return c, err
}

// writesByPlace returns the writes in members and those on the hub, without the Leases of the election.
func (r *rig) writesByPlace(ctx context.Context) (members, hub writes, err error) {
	for _, cluster := range r.Members {
		w, err := writesOf(ctx, cluster)
		if err != nil {
			return members, hub, err
		}
		members.groups += w.groups
		members.events += w.events
	}
	hub, err = writesOf(ctx, r.Hub)
	return members, hub, err
}

// window waits and returns the requests and usage of that time.
func (r *rig) window(ctx context.Context, d time.Duration) (count, error) {
	before, err := r.count(ctx)
	if err != nil {
		return count{}, err
	}
	if err := delay.For(ctx, d); err != nil {
		return count{}, err
	}
	after, err := r.count(ctx)
	return after.minus(before), err
}

// minus returns the difference. Memory is not subtracted.
func (c count) minus(before count) count {
	c.listing -= before.listing
	c.other -= before.other
	c.writes = c.writes.minus(before.writes)
	c.usage.CPU -= before.usage.CPU
	return c
}

// settle waits until only listings were requested, and nothing was written, for the given time. The operator delays the last statuses and
// counts for some seconds.
func (r *rig) settle(ctx context.Context, d time.Duration) error {
	last, since := "", time.Now()
	return r.everySecond(ctx, fmt.Sprintf("nothing to happen for %s", d), func(ctx context.Context) (bool, error) {
		c, err := r.count(ctx)
		if err != nil {
			return false, err
		}
		if now := fmt.Sprint(c.other, c.writes); now != last {
			last, since = now, time.Now()
		}
		return time.Since(since) >= d, nil
	})
}

// metric adds the samples of one of the manager's metrics whose labels contain all given texts.
func (r *rig) metric(ctx context.Context, name string, labels ...string) (float64, error) {
	text, err := get(ctx, r.metrics)
	if err != nil {
		return 0, err
	}
	return sumOf(text, name, labels...), nil
}
