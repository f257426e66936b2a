//go:build unix

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/codeconnect/vmgroup-operator/test/failover"
)

// movement measures how many more buckets than necessary change their holder when the number of replicas changes.
func movement(ctx context.Context, s *session, r *rig) error {
	excess := map[string][]float64{}
	for _, step := range []struct {
		name     string
		from, to int
	}{{"join-5-6", 5, 6}, {"join-3-4", 3, 4}, {"leave-4-3", 4, 3}, {"join-3-4", 3, 4}, {"leave-4-3", 4, 3}} {
		if err := r.staff(ctx, s, step.from); err != nil {
			return err
		}
		claims, least, err := r.moves(ctx, s, step.to)
		if err != nil {
			return err
		}
		s.say("  %s: %d buckets changed hands, %d had to", step.name, claims, least)
		excess[step.name] = append(excess[step.name], float64(claims-least))
	}
	for _, name := range []string{"join-3-4", "leave-4-3", "join-5-6"} {
		s.add("movement/"+name+"/excess", worst(excess[name]), "buckets", atMost(0),
			"claims in the shard map on the hub, less those without which the replicas cannot share evenly; real replicas; worst of %d", len(excess[name]))
	}
	for _, n := range []int{3, 5, 10} {
		uneven := unevenness(n, fleets)
		where := fmt.Sprintf("groups of the fullest replica / mean, %d groups in %d members, %d replicas, %d buckets, computed by the operator's own hash and placement for %d fleets with other UIDs and sessions",
			placed, placedMembers, n, ringBuckets, fleets)
		s.add(fmt.Sprintf("movement/max-to-mean/%d/median", n), median(uneven), "", atMost(1.15), "%s", where)
		s.add(fmt.Sprintf("movement/max-to-mean/%d/worst", n), worst(uneven), "", atMost(1.15), "%s", where)
	}
	return nil
}

// moves changes the number of replicas. It returns the number of claims, and the least possible number.
func (r *rig) moves(ctx context.Context, s *session, n int) (claims, least int, err error) {
	before, began := r.observer.Timeline(), time.Now()
	leaving := before.Of(r.boots(before)[min(n, len(r.Replicas)):]...)
	if err := r.staff(ctx, s, n); err != nil {
		return 0, 0, err
	}
	if err := r.untilStill(ctx); err != nil {
		return 0, 0, err
	}
	held := map[string]int{}
	for _, lock := range before.Now().Buckets {
		if !leaving(lock.Holder) {
			held[lock.Holder]++
		}
	}
	return claimsIn(r.observer.Timeline().Moves(began)), fewestClaims(held, len(before.Now().Buckets), n), nil
}

// untilStill waits until the shard map has not been written for two renewals. By then, every replica has made its moves.
func (r *rig) untilStill(ctx context.Context) error {
	return r.waitFor(ctx, "nothing to move", func() bool {
		rings := r.observer.Timeline().Rings
		return time.Since(rings[len(rings)-1].At) > 4*time.Second
	})
}

// claimsIn counts the moves to a new holder. Releases come before them.
func claimsIn(moves []failover.Move) int {
	n := 0
	for _, m := range moves {
		if m.To != "" {
			n++
		}
	}
	return n
}
