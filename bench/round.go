//go:build unix

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

const (
	// big is the size of the group that is scaled up.
	big = 48
	// productRounds and originalRounds are the numbers of rounds. The original takes about five times as long.
	productRounds, originalRounds = 5, 3
)

// round is the life of one big group.
type round struct {
	// makespan is the time from before the creation of the group until vCenter runs all its VMs.
	makespan time.Duration
	// up counts until the operator was quiet again after that, and life until the group was deleted.
	upCalls, lifeCalls   int
	upWrites, lifeWrites writes
	// byMethod are the calls until the operator was quiet.
	byMethod map[string]int
}

type roundKey struct {
	agent string
	width int
}

// live runs rounds, or returns those that another benchmark of this rig ran.
func (r *rig) live(ctx context.Context, s *session, u *subject, width, n int) ([]round, error) {
	key := roundKey{u.agent, width}
	for i := len(r.rounds[key]); i < n; i++ {
		one, err := r.lifeOfOne(ctx, u, fmt.Sprintf("big-%d-%d", width, i), big)
		if err != nil {
			return nil, err
		}
		s.say("  %s, %d wide, round %d of %d: %d VMs ran after %s", u.agent, width, i+1, n, big, one.makespan.Round(10*time.Millisecond))
		r.rounds[key] = append(r.rounds[key], one)
	}
	return r.rounds[key], nil
}

// lifeOfOne creates a group, waits until its VMs run, and deletes it.
func (r *rig) lifeOfOne(ctx context.Context, u *subject, name string, replicas int) (one round, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	before, err := writesOf(ctx, u.cluster)
	if err != nil {
		return one, err
	}
	r.Proxy.Reset()
	began := time.Now()
	if err := u.apply(ctx, name, replicas); err != nil {
		return one, err
	}
	if err := await.Condition(ctx, "all VMs of "+name+" to run", func(ctx context.Context) (bool, error) {
		// The simulator shares the cores with all others. Do not query it before all clones were requested.
		if r.Proxy.Count("CloneVM_Task", u.agent) < replicas {
			return false, nil
		}
		running, err := r.running(ctx, name)
		return running == replicas, err
	}); err != nil {
		return one, err
	}
	one.makespan = time.Since(began)
	if err := r.untilQuiet(ctx, u, 1500*time.Millisecond); err != nil {
		return one, err
	}
	one.upCalls, one.byMethod = r.Proxy.Count("", u.agent), map[string]int{}
	for call, n := range r.Proxy.Calls() {
		if strings.HasPrefix(call.UserAgent, u.agent) {
			one.byMethod[call.Method] += n
		}
	}
	after, err := writesOf(ctx, u.cluster)
	if err != nil {
		return one, err
	}
	one.upWrites = after.minus(before)
	if err := u.remove(ctx, name); err != nil {
		return one, err
	}
	if err := r.untilQuiet(ctx, u, 1500*time.Millisecond); err != nil {
		return one, err
	}
	one.lifeCalls = r.Proxy.Count("", u.agent)
	after, err = writesOf(ctx, u.cluster)
	one.lifeWrites = after.minus(before)
	return one, err
}

func collect[T any](rounds []round, of func(round) T) []T {
	out := make([]T, len(rounds))
	for i, r := range rounds {
		out[i] = of(r)
	}
	return out
}
