//go:build unix

package main

import (
	"context"
	"fmt"
)

// Memory of a settled replica in MiB, as in docs/reference/sizing.md.
const (
	memoryBase, memoryPerMember, memoryPerThousandGroups = 55, 1, 25
	// The documented limit is twice that, because a replica needs more while groups are filled.
	memoryLimit = 2
)

// memoryBySize compares a replica at two sizes with these figures. It restarts the replica before each measurement, because the garbage
// that Go keeps depends on the filling, and not on the needs of the groups.
func memoryBySize(ctx context.Context, s *session, r *rig) error {
	const small, large = 250, restartGroups
	settledAt := map[int]float64{}
	for _, groups := range []int{small, large} {
		if err := r.fill(ctx, s, groups, 1); err != nil {
			return err
		}
		filled, err := readUsage(r.Manager.PID())
		if err != nil {
			return err
		}
		began, err := r.bounce(ctx)
		if err != nil {
			return err
		}
		if _, err := r.untilObserved(ctx, began); err != nil {
			return err
		}
		if err := r.settle(ctx, settled); err != nil {
			return err
		}
		used, err := readUsage(r.Manager.PID())
		if err != nil {
			return err
		}
		needs := memoryBase + memoryPerMember*float64(len(r.setup.members)) + memoryPerThousandGroups*float64(groups)/1000
		settledAt[groups] = float64(used.RSS) / mebibyte
		name, where := fmt.Sprintf("memory/%d-groups/", groups), fmt.Sprintf("%d groups of one VM, %d members", groups, len(r.setup.members))
		s.add(name+"settled", settledAt[groups]/needs, "x formula", atMost(1.2), "VmRSS %.1f MiB after a restart, beside %.1f MiB; %s", settledAt[groups], needs, where)
		s.add(name+"filling", float64(filled.Peak)/mebibyte/(memoryLimit*needs), "x limit", atMost(1), "VmHWM %.1f MiB of the process that made them, beside %.1f MiB; %s", float64(filled.Peak)/mebibyte, memoryLimit*needs, where)
	}
	s.add("memory/slope", (settledAt[large]-settledAt[small])/(large-small)*1000/memoryPerThousandGroups, "x formula", atMost(1.2),
		"VmRSS of %d groups less that of %d, for each 1,000, beside %d MiB", large, small, memoryPerThousandGroups)
	return nil
}
