//go:build unix && slow

package faults

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/certmanager"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

const (
	// soakLasts is the time from the first scrape to the last one, soakEvery that between two.
	soakLasts = 12 * time.Minute
	soakEvery = 15 * time.Second
	// The scale-up of the first group.
	soakVMs, soakMoreVMs = 10, 60
)

// soaked is the actions of users and nodes in a healthy world.
var soaked = []struct {
	at   time.Duration
	name string
	does func(t *testing.T, w *world)
}{
	{time.Minute, "update", soakUpdate},
	{4 * time.Minute, "rotation", soakRotation},
	{6 * time.Minute, "takeover", soakTakeover},
	{9 * time.Minute, "scale-up", soakScaleUp},
}

// TestASoakFiresNoAlert uses the healthy product for 12 minutes: no alert fires over the replicas' reports.
func TestASoakFiresNoAlert(t *testing.T) {
	// VMs that are not available at once make the update last for several scrapes.
	w := newWorld(t, soakVMs, func(s *v1alpha1.VmGroupSpec) { s.Readiness = &v1alpha1.Readiness{MinReadySeconds: 5} })
	w.well(t)
	r := &recording{}
	began := time.Now()
	due := began
	w.watch = func(ctx context.Context) {
		if now := time.Now(); !now.Before(due) {
			due = now.Add(soakEvery)
			r.scrape(ctx, w, "soak")
		}
	}
	for _, event := range soaked {
		w.lasts(t, began, event.at)
		t.Logf("%s: %s", time.Since(began).Round(time.Second), event.name)
		event.does(t, w)
		w.well(t)
		t.Logf("%s: %s is done", time.Since(began).Round(time.Second), event.name)
	}
	w.lasts(t, began, soakLasts)
	w.watch = nil
	r.scrape(t.Context(), w, "soak")
	dir := t.TempDir()
	r.store(t, dir, "soak", "soak")
	evaluate(t, dir, "^TestTheSoak")
}

// lasts waits until the soak has lasted that long.
func (w *world) lasts(t *testing.T, began time.Time, length time.Duration) {
	t.Helper()
	for reached := time.Duration(0); reached < length; {
		reached = min(time.Since(began)+patience/2, length)
		w.until(t, fmt.Sprintf("%s of the soak", reached), func(context.Context) (bool, error) { return time.Since(began) >= reached, nil })
	}
}

// soakUpdate replaces all VMs of a group.
func soakUpdate(t *testing.T, w *world) {
	w.patch(t, w.Members[member], groupObject(group), `{"spec":{"template":"`+newer+`"}}`)
	g := groupObject(group)
	w.until(t, "all VMs to be updated", func(ctx context.Context) (bool, error) {
		err := w.Members[member].Get(ctx, types.NamespacedName{Namespace: namespace, Name: group}, g)
		s := &g.Status
		return s.ObservedGeneration == g.Generation && s.UpdatedReplicas == soakVMs && s.ReadyReplicas == soakVMs && s.Replicas == soakVMs &&
			stack.IsReady(s.Conditions) && meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionUpToDate), err
	})
}

// soakRotation renews the certificate of the webhooks. All replicas serve the new one.
func soakRotation(t *testing.T, w *world) {
	before := w.reported(t.Context(), expiration)
	revision, err := certmanager.Revision(t.Context(), w.Hub, stack.Namespace, stack.WebhookCertificate)
	if err != nil {
		t.Fatal(err)
	}
	if err := certmanager.Renew(t.Context(), w.Hub, stack.Namespace, stack.WebhookCertificate); err != nil {
		t.Fatal(err)
	}
	w.until(t, "a new certificate", func(ctx context.Context) (bool, error) {
		now, err := certmanager.Revision(ctx, w.Hub, stack.Namespace, stack.WebhookCertificate)
		return now > revision, err
	})
	replicas := float64(len(w.Replicas))
	w.until(t, "the new certificate to be served", func(ctx context.Context) (bool, error) {
		// Each replica reports a time some minutes later.
		return w.reported(ctx, expiration) >= before+replicas*time.Minute.Seconds(), nil
	})
}

// soakTakeover kills the leading replica. The other one takes over, and the killed one restarts like under its kubelet.
func soakTakeover(t *testing.T, w *world) {
	killed := -1
	for i, replica := range w.Replicas {
		if w.reportedBy(t.Context(), replica, "vmgroup_sharding_leader") == 1 {
			killed = i
		}
	}
	if killed < 0 {
		t.Fatal("no replica leads")
	}
	w.Replicas[killed].Kill()
	w.reports(t, buckets, "vmgroup_sharding_owned_buckets")
	w.reports(t, 1, "vmgroup_sharding_leader")
	if err := w.Replicas[killed].Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.until(t, "the killed replica to own buckets", func(ctx context.Context) (bool, error) {
		return w.reportedBy(ctx, w.Replicas[killed], "vmgroup_sharding_owned_buckets") > 0, nil
	})
}

func soakScaleUp(t *testing.T, w *world) {
	w.vms += soakMoreVMs - soakVMs
	w.patch(t, w.Members[member], groupObject(group), fmt.Sprintf(`{"spec":{"replicas":%d}}`, soakMoreVMs))
	w.running(t, group, soakMoreVMs)
}
