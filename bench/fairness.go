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
	fairnessRounds = 5
	// fairnessMost limits the small groups of a round. About half as many arrive while the big one scales up.
	fairnessMost = 16
)

// fairness measures how long a group of one VM waits for its VM while a big group uses all slots.
func fairness(ctx context.Context, s *session, r *rig) error {
	const width = 16
	if err := r.setWidth(ctx, width); err != nil {
		return err
	}
	// The operator reserves slots for new groups only if more than one group uses the vCenter, as is usual.
	const bystander = "bystander"
	if err := r.product.apply(ctx, bystander, 1); err != nil {
		return err
	}
	if err := await.Condition(ctx, "the bystander's VM to run", func(ctx context.Context) (bool, error) {
		running, err := r.running(ctx, bystander)
		return running == 1, err
	}); err != nil {
		return err
	}
	if err := r.untilQuiet(ctx, r.product, time.Second); err != nil {
		return err
	}
	taskTime := r.setup.taskTime
	var small, large []float64
	for i := range fairnessRounds {
		of, whole, err := r.crowd(ctx, i, taskTime/2)
		if err != nil {
			return err
		}
		s.say("  round %d of %d: %d small groups, median %.2f, worst %.2f task times; the big one %s", i+1, fairnessRounds, len(of),
			median(of), worst(of), whole.Round(10*time.Millisecond))
		small = append(small, of...)
		large = append(large, float64(whole)/float64(bound(big, width, taskTime)))
	}
	where := fmt.Sprintf("one-VM groups, one each %s while %d VMs scale up %d wide; apply until vCenter runs the VM; L = %s; %d groups in %d rounds; another group is there and idle",
		taskTime/2, big, width, taskTime, len(small), fairnessRounds)
	s.add("fairness/small-group/p99", percentile(small, 99), "x L", atMost(1.5), "%s", where)
	s.add("fairness/small-group/median", median(small), "x L", noGoal, "%s", where)
	s.add("fairness/big-group/median", median(large), "x bound", noGoal, "the big group's own time, with the small ones beside it")
	return r.product.remove(ctx, bystander)
}

// crowd creates small groups while a big one scales up. It returns the duration of each small group in task times, and the duration of the
// big one.
func (r *rig) crowd(ctx context.Context, number int, every time.Duration) (small []float64, large time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	bigName := fmt.Sprintf("crowd-%d", number)
	began := time.Now()
	if err := r.product.apply(ctx, bigName, big); err != nil {
		return nil, 0, err
	}
	applied, ran := map[string]time.Time{}, map[string]time.Time{}
	arrive, look := time.NewTicker(every), time.NewTicker(50*time.Millisecond)
	defer arrive.Stop()
	defer look.Stop()
	for large == 0 || len(ran) < len(applied) {
		select {
		case <-ctx.Done():
			return nil, 0, fmt.Errorf("waiting for %d small groups and %s: %w", len(applied)-len(ran), bigName, ctx.Err())
		case <-arrive.C:
			if large != 0 || len(applied) == fairnessMost {
				continue
			}
			name := fmt.Sprintf("small-%d-%d", number, len(applied))
			applied[name] = time.Now()
			if err := r.product.apply(ctx, name, 1); err != nil {
				return nil, 0, err
			}
		case <-look.C:
			on, err := r.onByGroup(ctx)
			if err != nil {
				return nil, 0, err
			}
			for name := range applied {
				if _, seen := ran[name]; !seen && on[name] > 0 {
					ran[name] = time.Now()
				}
			}
			if large == 0 && on[bigName] == big {
				large = time.Since(began)
			}
		}
	}
	for name, at := range applied {
		small = append(small, float64(ran[name].Sub(at))/float64(r.setup.taskTime))
	}
	applied[bigName] = began
	for name := range applied {
		if err := r.product.remove(ctx, name); err != nil {
			return nil, 0, err
		}
	}
	return small, large, r.untilQuiet(ctx, r.product, time.Second)
}

// onByGroup counts the running VMs by the group in their names.
func (r *rig) onByGroup(ctx context.Context) (map[string]int, error) {
	vms, err := r.eye.VMs(ctx)
	on := map[string]int{}
	for _, vm := range vms {
		if i := strings.LastIndexByte(vm.Name, '-'); vm.On && i > 0 {
			on[vm.Name[:i]]++
		}
	}
	return on, err
}
