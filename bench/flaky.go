//go:build unix

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/delay"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

const (
	// flakyGroups of flakyReplicas are more than can be created in the time.
	flakyGroups, flakyReplicas = 24, 16
	flakyWidth                 = 8
	// flakyStart is not measured. In it, the process has its first failures, the duration of clones is not known yet, and VMs wait for a
	// slot to be powered on.
	// In the window, VMs come in waves of flakyWidth. A shorter window would count one wave more or less, which is 8 %.
	flakyStart, flakyWindow = 20 * time.Second, time.Minute
)

// flaky measures how many VMs are finished while some of vCenter's calls fail, compared to a run without failures.
func flaky(ctx context.Context, s *session, r *rig) error {
	if err := r.setWidth(ctx, flakyWidth); err != nil {
		return err
	}
	healthy := 0.0
	for i, ill := range []struct {
		name  string
		share float64
		goal  goal
	}{{"none", 0, noGoal}, {"2-percent", 0.02, atLeast(0.95)}, {"10-percent", 0.1, atLeast(0.85)}, {"a-third", 1. / 3, atLeast(0.4)}} {
		pace, err := r.paceWhileIll(ctx, fmt.Sprintf("ill-%d", i), ill.share)
		if err != nil {
			return err
		}
		s.say("  %s of the calls fail: %.0f VMs a minute", ill.name, pace)
		if ill.share == 0 {
			healthy = pace
			s.add("flaky/healthy", pace, "VMs/min", noGoal, "%d wide, clones of %s", flakyWidth, r.setup.taskTime)
			continue
		}
		s.add("flaky/"+ill.name, pace/healthy, "x healthy", ill.goal,
			"VMs that run after another %s, compared to a run without failures; random failures: connection cut before or after the call, HTTP 503; %d concurrent tasks, clones of %s",
			flakyWindow, flakyWidth, r.setup.taskTime)
	}
	return nil
}

// paceWhileIll returns the number of finished VMs per minute while a share of the product's calls fails.
func (r *rig) paceWhileIll(ctx context.Context, name string, share float64) (perMinute float64, err error) {
	r.Proxy.Hook(failing(share))
	defer r.Proxy.Hook(nil)
	for i := range flakyGroups {
		if err := r.product.apply(ctx, fmt.Sprintf("%s-%d", name, i), flakyReplicas); err != nil {
			return 0, err
		}
	}
	if err := delay.For(ctx, flakyStart); err != nil {
		return 0, err
	}
	before, err := r.running(ctx, name)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := delay.For(ctx, flakyWindow); err != nil {
		return 0, err
	}
	after, err := r.running(ctx, name)
	if err != nil {
		return 0, err
	}
	took := time.Since(began)
	if after >= flakyGroups*flakyReplicas {
		return 0, fmt.Errorf("all %d VMs run: there was not enough to do", after)
	}
	r.Proxy.Hook(nil)
	for i := range flakyGroups {
		if err := r.product.cluster.Delete(ctx, newGroup(fmt.Sprintf("%s-%d", name, i), 0)); err != nil {
			return 0, fmt.Errorf("delete a group: %w", err)
		}
	}
	return float64(after-before) / took.Minutes(), r.everySecond(ctx, "the VMs to be gone", func(ctx context.Context) (bool, error) {
		vms, err := r.eye.VMs(ctx)
		left := 0
		for _, vm := range vms {
			if strings.HasPrefix(vm.Name, name+"-") {
				left++
			}
		}
		return left == 0, err
	})
}

// failing fails a share of the product's calls of any kind, in three ways.
func failing(share float64) func(sim.Call) faultproxy.Fault {
	ways := []faultproxy.Fault{
		{Act: faultproxy.CutBefore}, {Act: faultproxy.CutAfter},
		{Act: faultproxy.Answer, Status: 503, ContentType: "text/plain", Body: []byte("busy")},
	}
	var mu sync.Mutex
	chance := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same in each run
	return func(c sim.Call) faultproxy.Fault {
		mu.Lock()
		defer mu.Unlock()
		if !strings.HasPrefix(c.UserAgent, productAgent) || chance.Float64() >= share {
			return faultproxy.Fault{}
		}
		return ways[chance.IntN(len(ways))]
	}
}
