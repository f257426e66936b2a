//go:build unix

package main

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/bench/original"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

const (
	changeVMs    = 50
	changeRounds = 5
	// A round has this many power-offs and deletions, one at a time.
	powerOffs, deletions = 20, 3
)

// change measures how soon the operator reacts to a user's actions in vCenter.
func change(ctx context.Context, s *session, r *rig) error {
	if err := r.setWidth(ctx, 16); err != nil {
		return err
	}
	const name = "steady"
	if err := r.product.apply(ctx, name, changeVMs); err != nil {
		return err
	}
	w := &watched{rig: r, name: name}
	if err := w.untilWhole(ctx); err != nil {
		return err
	}
	var offs, gone, replaced []float64
	for round := range changeRounds {
		for i := range powerOffs {
			noticed, _, err := w.disturb(ctx, (round*powerOffs+i)%changeVMs, "PowerOnVM_Task", r.Person.PowerOff)
			if err != nil {
				return err
			}
			offs = append(offs, milliseconds(noticed))
		}
		for i := range deletions {
			noticed, whole, err := w.disturb(ctx, (round*deletions+i)%changeVMs, "CloneVM_Task", r.Person.Destroy)
			if err != nil {
				return err
			}
			gone = append(gone, milliseconds(noticed))
			replaced = append(replaced, whole.Seconds())
		}
		s.say("  round %d of %d: power-off noticed after %.0f ms, deletion after %.0f ms, replaced after %.2f s (medians so far)",
			round+1, changeRounds, median(offs), median(gone), median(replaced))
	}
	where := "until the corrective call reaches the proxy, from the return of the person's call; watch mode, 50 VMs, %d changes one by one"
	s.add("change/power-off/p99", percentile(offs, 99), "ms", atMost(250), where, len(offs))
	s.add("change/power-off/median", median(offs), "ms", noGoal, where, len(offs))
	s.add("change/delete/p99", percentile(gone, 99), "ms", atMost(250), where, len(gone))
	s.add("change/delete/median", median(gone), "ms", noGoal, where, len(gone))
	limit := r.setup.taskTime.Seconds() + 0.5
	s.add("change/replacement/median", median(replaced), "s", atMost(limit), "until vCenter runs the new VM; goal L + 0.5 s; %d deletions", len(replaced))
	s.add("change/replacement/worst", worst(replaced), "s", noGoal, "as above")
	s.add("change/original/expected", original.Resync.Seconds()/2*1000, "ms", noGoal,
		"computed, not measured: half of the original's resync of %s; at worst all of it", original.Resync)
	return r.product.remove(ctx, name)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// watched is a group whose VMs a user disturbs.
type watched struct {
	*rig
	name string
}

// untilWhole waits until all VMs run and the operator has no work left.
func (w *watched) untilWhole(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	group := &v1alpha1.VmGroup{}
	if err := await.Condition(ctx, "all VMs of "+w.name+" to run", func(ctx context.Context) (bool, error) {
		running, err := w.running(ctx, w.name)
		if err != nil || running != changeVMs {
			return false, err
		}
		err = w.product.cluster.Get(ctx, client.ObjectKeyFromObject(newGroup(w.name, 0)), group)
		return stack.IsReady(group.Status.Conditions), err
	}); err != nil {
		return err
	}
	return w.untilQuiet(ctx, w.product, 300*time.Millisecond)
}

// disturb runs a user's action on a VM. noticed is the time until the operator's first call of method, or zero if it came before the user's
// call returned. whole is the time until all VMs ran again.
func (w *watched) disturb(ctx context.Context, ordinal int, method string, act func(context.Context, string) error) (noticed, whole time.Duration, err error) {
	group := &v1alpha1.VmGroup{}
	if err := w.product.cluster.Get(ctx, client.ObjectKeyFromObject(newGroup(w.name, 0)), group); err != nil {
		return 0, 0, err
	}
	path := fmt.Sprintf("%s/%s-%d", group.Status.Folder.Path, w.name, ordinal)
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	before := w.Proxy.Count(method, w.product.agent)
	seen := make(chan time.Time, 1)
	go func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for w.Proxy.Count(method, w.product.agent) == before && bounded.Err() == nil {
			<-tick.C
		}
		seen <- time.Now()
	}()
	if err := act(bounded, path); err != nil {
		return 0, 0, err
	}
	returned := time.Now()
	noticed = max(0, (<-seen).Sub(returned))
	if err := bounded.Err(); err != nil {
		return 0, 0, fmt.Errorf("waiting for %s after %s was disturbed: %w", method, path, err)
	}
	if err := await.Condition(bounded, "all VMs of "+w.name+" to run", func(ctx context.Context) (bool, error) {
		running, err := w.running(ctx, w.name)
		return running == changeVMs, err
	}); err != nil {
		return 0, 0, err
	}
	whole = time.Since(returned)
	return noticed, whole, w.untilWhole(ctx)
}
