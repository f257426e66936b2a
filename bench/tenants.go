//go:build unix

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

const (
	// tenantWidth is the default task limit. All templates of the simulator are on one host, whose limit is the same.
	tenantWidth = 8
	// tenantBacklog is the number of the busy member's groups of one VM: nineteen rounds of clones.
	tenantBacklog = 150
	tenantGroups  = 8
	tenantRounds  = 3
)

// arrival contains the times from the creation of the first group until the first VM of any group, and until all VMs, ran.
type arrival struct{ first, all time.Duration }

// tenants measures the time of one member's groups alone, and beside many small groups of another member.
func tenants(ctx context.Context, s *session, r *rig) error {
	busy, other := r.Members[r.setup.members[0]], r.Members[r.setup.members[1]]
	if err := r.keep(ctx); err != nil {
		return err
	}
	var firstAlone, allAlone, firstBeside, allBeside []time.Duration
	for i := range tenantRounds {
		a, err := r.arrive(ctx, other, fmt.Sprintf("alone-%d", i))
		if err != nil {
			return err
		}
		firstAlone, allAlone = append(firstAlone, a.first), append(allAlone, a.all)
	}
	const backlog = "many"
	seats := make([]seat, tenantBacklog)
	for i := range seats {
		seats[i] = seat{busy, fmt.Sprintf("%s-%d", backlog, i)}
	}
	if err := each(ctx, seats, func(ctx context.Context, _ int, at seat) error {
		return at.member.Create(ctx, newGroup(at.name, 1))
	}); err != nil {
		return fmt.Errorf("apply %d groups: %w", tenantBacklog, err)
	}
	if err := await.Condition(ctx, "two rounds of the small groups to run", func(ctx context.Context) (bool, error) {
		running, err := r.running(ctx, backlog)
		return running >= 2*tenantWidth, err
	}); err != nil {
		return err
	}
	for i := range tenantRounds {
		a, err := r.arrive(ctx, other, fmt.Sprintf("beside-%d", i))
		if err != nil {
			return err
		}
		firstBeside, allBeside = append(firstBeside, a.first), append(allBeside, a.all)
		running, err := r.running(ctx, backlog)
		if err != nil {
			return err
		}
		if running > tenantBacklog-tenantWidth {
			return fmt.Errorf("%d of %d small groups run already: nothing was beside anything", running, tenantBacklog)
		}
		s.say("  round %d of %d: the first VM after %s, all %d after %s; %d of %d small groups of the other member run",
			i+1, tenantRounds, a.first.Round(10*time.Millisecond), tenantGroups, a.all.Round(10*time.Millisecond), running, tenantBacklog)
	}
	where := fmt.Sprintf("%d groups of one VM at once, beside %d of another member that wait; %d tasks at a time, L = %s; apply until vCenter runs the VM; worst of %d rounds",
		tenantGroups, tenantBacklog, tenantWidth, r.setup.taskTime, tenantRounds)
	file := func(name string, beside, alone []time.Duration, g goal) {
		s.add("tenants/"+name+"/alone", median(ratios(alone, r.setup.taskTime)), "x L", noGoal, "the same groups, without another tenant; median of %d", tenantRounds)
		s.add("tenants/"+name+"/beside", worst(ratios(beside, r.setup.taskTime)), "x L", noGoal, "%s", where)
		s.add("tenants/"+name, worst(ratios(beside, r.setup.taskTime))/median(ratios(alone, r.setup.taskTime)), "x alone", g, "beside / alone")
	}
	file("first", firstBeside, firstAlone, atMost(2.1))
	file("all", allBeside, allAlone, atMost(3.2))
	return nil
}

// arrive creates groups of one VM, and waits until all run.
func (r *rig) arrive(ctx context.Context, member *stack.Cluster, prefix string) (a arrival, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	began := time.Now()
	for i := range tenantGroups {
		if err := member.Create(ctx, newGroup(fmt.Sprintf("%s-%d", prefix, i), 1)); err != nil {
			return a, fmt.Errorf("apply group %d of %s: %w", i, prefix, err)
		}
	}
	return a, await.Condition(ctx, "the VMs of "+prefix+" to run", func(ctx context.Context) (bool, error) {
		running, err := r.running(ctx, prefix)
		if running > 0 && a.first == 0 {
			a.first = time.Since(began)
		}
		a.all = time.Since(began)
		return running == tenantGroups, err
	})
}
