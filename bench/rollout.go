//go:build unix

package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

const (
	rolloutRounds = 3
	rolloutSurge  = 8
	// bootTime and shutdownTime are the times of guests. In the simulator, a destruction takes no time.
	bootTime     = time.Second
	shutdownTime = 500 * time.Millisecond
)

// rollOut compares an update of a big group with the possible minimum: each wave of VMs is cloned and boots, and then as many others shut down.
func rollOut(ctx context.Context, s *session, r *rig) error {
	const width = 16
	if err := r.setWidth(ctx, width); err != nil {
		return err
	}
	templates := []string{"rollout-a", "rollout-b"}
	for _, name := range templates {
		if err := r.Person.AddTemplate(ctx, "/DC0/vm", name); err != nil {
			return err
		}
		guest := map[string]string{sim.GuestBoot: bootTime.String(), sim.GuestShutdown: shutdownTime.String()}
		if err := r.Person.SetTemplate(ctx, "/DC0/vm/"+name, guest); err != nil {
			return err
		}
	}
	surge, none := intstr.FromInt32(rolloutSurge), intstr.FromInt32(0)
	group := newGroup("rolled", big)
	group.Spec.Template = templates[0]
	group.Spec.Readiness = &v1alpha1.Readiness{Gate: v1alpha1.GateGuestHeartbeat}
	group.Spec.UpdateStrategy = &v1alpha1.UpdateStrategy{MaxSurge: &surge, MaxUnavailable: &none}
	cluster := r.product.cluster
	if err := cluster.Create(ctx, group); err != nil {
		return fmt.Errorf("apply group %s: %w", group.Name, err)
	}
	updated := func() error {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		return await.Condition(ctx, "all VMs of "+group.Name+" to be as spec says", func(ctx context.Context) (bool, error) {
			err := cluster.Get(ctx, client.ObjectKeyFromObject(group), group)
			st := &group.Status
			return err == nil && st.ObservedGeneration == group.Generation && st.UpdatedReplicas == big && st.Replicas == big && stack.IsReady(st.Conditions), err
		})
	}
	if err := updated(); err != nil {
		return err
	}
	var took []time.Duration
	var calls []float64
	for i := range rolloutRounds {
		if err := r.untilQuiet(ctx, r.product, 1500*time.Millisecond); err != nil {
			return err
		}
		r.Proxy.Reset()
		began := time.Now()
		base := group.DeepCopy()
		group.Spec.Template = templates[(i+1)%len(templates)]
		if err := cluster.Patch(ctx, group, client.MergeFrom(base)); err != nil {
			return fmt.Errorf("edit group %s: %w", group.Name, err)
		}
		if err := updated(); err != nil {
			return err
		}
		took = append(took, time.Since(began))
		if err := r.untilQuiet(ctx, r.product, 1500*time.Millisecond); err != nil {
			return err
		}
		calls = append(calls, float64(r.Proxy.Count("", r.product.agent))/big)
		s.say("  round %d of %d: %d VMs were replaced after %s", i+1, rolloutRounds, big, took[i].Round(10*time.Millisecond))
	}
	least := bound(big, rolloutSurge, r.setup.taskTime+bootTime+shutdownTime)
	conditions := fmt.Sprintf("%d VMs, maxSurge %d, %d tasks at a time; clones of %s, guests that boot in %s and shut down in %s; bound %s; from the edit until status says that "+
		"all are updated; %d rounds", big, rolloutSurge, width, r.setup.taskTime, bootTime, shutdownTime, least, len(took))
	over := ratios(took, least)
	s.add("rollout/median", median(over), "x bound", atMost(1.15), "%s", conditions)
	s.add("rollout/worst", worst(over), "x bound", noGoal, "%s", conditions)
	s.add("rollout/soap-per-vm/median", median(calls), "calls", noGoal, "per VM that is replaced, both lives and reads included; %s", conditions)
	return r.product.remove(ctx, group.Name)
}
