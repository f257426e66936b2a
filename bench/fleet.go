//go:build unix

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/codeconnect/vmgroup-operator/test/failover"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// workers of each replica if several are measured, which limits the passes for all groups at a time. One vCenter can use three quarters of
// them.
const workers, passes = 4, 3

// holdings returns how many buckets each process holds, by its boot. Buckets without a holder count under "".
func holdings(line failover.Timeline) map[string]int {
	held := map[string]int{}
	if now := line.Now(); now != nil {
		for _, lock := range now.Buckets {
			held[line.Sessions[lock.Holder].Boot]++
		}
	}
	return held
}

// even reports whether exactly these processes hold all buckets, and their counts differ by at most one.
func even(held map[string]int, boots []string) bool {
	if len(held) != len(boots) || len(boots) == 0 {
		return false
	}
	least, most := held[boots[0]], 0
	for _, boot := range boots {
		least, most = min(least, held[boot]), max(most, held[boot])
	}
	return least > 0 && most-least <= 1
}

// boots returns the current process of each replica, or "" for a replica without a session.
func (r *rig) boots(line failover.Timeline) []string {
	boots := make([]string, len(r.Replicas))
	for i, replica := range r.Replicas {
		boots[i] = line.BootOf(replica.Name)
	}
	return boots
}

// staff sets the number of replicas of the rig, and waits until they share all buckets evenly.
func (r *rig) staff(ctx context.Context, s *session, n int) error {
	began, before := time.Now(), len(r.Replicas)
	for len(r.Replicas) > n {
		if err := r.Replicas[len(r.Replicas)-1].Remove(); err != nil {
			return err
		}
	}
	for len(r.Replicas) < n {
		if _, err := r.AddReplica(ctx, fmt.Sprintf("manager-%d", len(r.Replicas))); err != nil {
			return err
		}
	}
	if err := r.untilEven(ctx); err != nil {
		return err
	}
	if before != n {
		s.say("  %d replicas instead of %d share all buckets after %s", n, before, time.Since(began).Round(100*time.Millisecond))
	}
	return nil
}

func (r *rig) untilEven(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return await.Condition(ctx, "the replicas to share all buckets evenly", func(context.Context) (bool, error) {
		line := r.observer.Timeline()
		held := holdings(line)
		if even(held, r.boots(line)) {
			return true, nil
		}
		return false, fmt.Errorf("buckets by boot: %v", held)
	})
}

// busiest returns the replica with the most buckets, and its process.
func (r *rig) busiest() (*stack.Replica, string) {
	line := r.observer.Timeline()
	held, boots := holdings(line), r.boots(line)
	best := 0
	for i, boot := range boots {
		if held[boot] > held[boots[best]] {
			best = i
		}
	}
	return r.Replicas[best], boots[best]
}

// revive starts a replica again, and waits until its new process can take buckets. It does not wait until the process has some: it gets
// free buckets immediately, and others only after a while.
func (r *rig) revive(ctx context.Context, replica *stack.Replica, gone string) error {
	if err := replica.Restart(ctx); err != nil {
		return err
	}
	return r.waitFor(ctx, "the new "+replica.Name+" to be ready", func() bool {
		line := r.observer.Timeline()
		boot := line.BootOf(replica.Name)
		if boot == gone {
			return false
		}
		for _, one := range line.Sessions {
			if one.Boot == boot && one.State == "ready" {
				return true
			}
		}
		return false
	})
}
