//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/webhookcall"
)

const (
	admissionCreates = 1000
	// loadRate is in requests per second. If there are hostile requests, every hostileEvery-th is one.
	loadRate, hostileEvery = 200, 20
	loadWindow             = 3 * time.Second
	loadWindows            = 9
)

// admission measures the latency for users, and the load that one webhook can handle.
func admission(ctx context.Context, s *session, r *rig) error {
	member := r.Members[r.setup.members[0]]
	if err := r.doorsAreShut(ctx); err != nil {
		return err
	}
	if err := createLatency(ctx, s, member); err != nil {
		return err
	}
	return webhookLoad(ctx, s, r, member)
}

// doorsAreShut waits until the member has its policies and webhooks, and answers requests about groups.
func (r *rig) doorsAreShut(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	name := r.setup.members[0]
	return await.Condition(ctx, "admission of "+name, func(ctx context.Context) (bool, error) {
		mc := &v1alpha1.MemberCluster{}
		if err := r.Hub.Get(ctx, client.ObjectKey{Name: name}, mc); err != nil {
			return false, err
		}
		c := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionAdmissionReady)
		if c == nil || c.Reason != v1alpha1.ReasonAdmissionInstalled {
			return false, nil
		}
		// The policy with the defaults comes last, some seconds after the CRD.
		err := errors.Join(
			r.Members[name].Get(ctx, client.ObjectKey{Name: operatorObjects}, &admissionregistrationv1.MutatingAdmissionPolicyBinding{}),
			r.Members[name].Create(ctx, newGroup("never", 1), client.DryRunAll))
		return err == nil, err
	})
}

// createLatency alternates dry-run creates of kinds that differ only in their admission.
func createLatency(ctx context.Context, s *session, member *stack.Cluster) error {
	layers, remove, err := layersOf(ctx, member)
	if err != nil {
		return err
	}
	defer remove()
	took := map[string][]float64{}
	for i := range admissionCreates + 50 {
		for _, l := range layers {
			began := time.Now()
			if err := member.Create(ctx, l.object.DeepCopy(), client.DryRunAll); err != nil {
				return fmt.Errorf("create with %s: %w", l.name, err)
			}
			if i >= 50 { // the first ones compile expressions and connect
				took[l.name] = append(took[l.name], float64(time.Since(began))/float64(time.Millisecond))
			}
		}
	}
	const where = "of a dry-run create; %d of each kind in turn, one after the other, on one API server"
	plain := took[layers[0].name]
	for i, l := range layers {
		s.add("admission/create/"+l.name+"/p50", percentile(took[l.name], 50), "ms", noGoal, where+"; guarded by %s", admissionCreates, l.about)
		if i > 0 {
			s.add("admission/create/"+l.name+"/ratio", percentile(took[l.name], 50)/percentile(plain, 50), "", l.goal,
				"p50 by that of the CRD alone; guarded by %s", l.about)
		}
	}
	last := layers[len(layers)-1].name
	s.add("admission/create/p99-more", percentile(took[last], 99)-percentile(plain, 99), "ms", atMost(5),
		"99th percentile with all layers, less that of the CRD alone; "+where, admissionCreates)
	return nil
}

// webhookLoad sends a steady stream of requests to the webhook, alternately with and without hostile requests.
func webhookLoad(ctx context.Context, s *session, r *rig, member *stack.Cluster) error {
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := member.Get(ctx, client.ObjectKey{Name: operatorObjects}, configuration); err != nil {
		return err
	}
	caller, err := webhookcall.New(configuration.Webhooks[0].ClientConfig, "")
	if err != nil {
		return err
	}
	defer caller.Close()
	load := webhookcall.Load{Rate: loadRate, Duration: loadWindow, Valid: webhookcall.Creation(newGroup("never", 1))}
	hostile := load
	hostile.Hostile, hostile.HostileEvery = webhookcall.HostileBodies(metav1.NamespaceDefault), hostileEvery
	caller.Run(ctx, load)
	before, err := readUsage(r.Manager.PID())
	if err != nil {
		return err
	}
	var quiet, troubled []float64
	for window := range loadWindows {
		for _, one := range []struct {
			load webhookcall.Load
			into *[]float64
		}{{load, &quiet}, {hostile, &troubled}} {
			out := caller.Run(ctx, one.load)
			if len(out.Failures) > 0 {
				return fmt.Errorf("%d valid requests failed, the first: %s", len(out.Failures), out.Failures[0])
			}
			*one.into = append(*one.into, percentile(out.Milliseconds, 99))
		}
		s.say("  window %d of %d: p99 %.1f ms, %.1f ms with hostile requests", window+1, loadWindows, quiet[window], troubled[window])
	}
	after, err := readUsage(r.Manager.PID())
	if err != nil {
		return err
	}
	names := make([]string, 0, len(hostile.Hostile))
	for _, h := range hostile.Hostile {
		names = append(names, h.Name)
	}
	where := fmt.Sprintf("of valid requests, %d a second from one caller, median of %d windows of %s", loadRate, loadWindows, loadWindow)
	s.add("admission/webhook/p99", median(quiet), "ms", atMost(5), "99th percentile %s", where)
	s.add("admission/webhook/hostile/p99", median(troubled), "ms", noGoal, "99th percentile %s, every %dth hostile: %v", where, hostileEvery, names)
	s.add("admission/webhook/hostile/ratio", median(troubled)/median(quiet), "", atMost(3), "of these two, windows in turn in one run")
	s.add("admission/webhook/hostile/memory", float64(after.Peak-before.Peak)/(1<<20), "MiB", noGoal, "more at its peak than before")
	return nil
}
