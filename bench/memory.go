//go:build unix

package main

import (
	"context"
	"fmt"
)

// What docs/reference/sizing.md says that a replica needs when it has settled, in MiB.
const (
	memoryBase, memoryPerMember, memoryPerThousandGroups = 55, 1, 25
	// Twice that is what it says to give it, since it needs more while groups fill.
	memoryLimit = 2
)

// memoryBySize measures a replica at two sizes beside that. A replica is measured anew when it has restarted: what Go keeps of
// garbage is what filling took, and not what the groups need.
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
