//go:build unix

package failover

import (
	"context"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/ring"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

func TestTheObserverSeesTheRingAndSessionsAlsoAfterTheHubWasAway(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	hub, err := localcluster.StartControlPlane(ctx, localcluster.Options{Name: "hub"})
	must(err)
	t.Cleanup(func() { _ = hub.Stop() })
	c, err := client.New(hub.Config, client.Options{})
	must(err)
	o, err := Observe(hub.Config, metav1.NamespaceDefault)
	must(err)
	t.Cleanup(o.Close)
	until := func(what string, condition func(Timeline) bool) {
		t.Helper()
		must(await.Condition(ctx, what, func(context.Context) (bool, error) { return condition(o.Timeline()), nil }))
	}

	r := ring.Ring{Settings: ring.Settings{Buckets: 2, Hash: ring.HashName, Validity: 8 * time.Second, Patience: 12 * time.Second}, Generation: 1, Rebuilt: 1, Sequence: 1, Buckets: make([]ring.Lock, 2)}
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: RingName}}
	write := func(write func(context.Context, client.Object) error, holders ...string) {
		t.Helper()
		for i, h := range holders {
			r.Buckets[i] = ring.Lock{Holder: h, Number: r.Buckets[i].Number + 1}
		}
		r.Sequence++
		var err error
		object.Data, err = ring.Encode(r)
		must(err)
		must(write(ctx, object))
	}
	create := func(ctx context.Context, o client.Object) error { return c.Create(ctx, o) }
	update := func(ctx context.Context, o client.Object) error { return c.Update(ctx, o) }
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Namespace: metav1.NamespaceDefault, Name: LeasePrefix + "s1",
		Annotations: map[string]string{annotations + "boot": "b1", annotations + "host": "manager-0", annotations + "state": "ready"},
	}}
	until("to be without a shard map", func(l Timeline) bool { return len(l.Rings) == 1 && l.Now() == nil })
	must(c.Create(ctx, lease))
	write(create, "s1", "s2")
	until("the shard map and the session", func(l Timeline) bool {
		return l.Now() != nil && l.BootOf("manager-0") == "b1" && l.Shares()["manager-0"] == 1
	})
	changed := time.Now()
	write(update, "s1", "s1")
	until("the change", func(l Timeline) bool { return len(l.Moves(changed)) == 1 })

	hub.KillAPIServer()
	must(hub.StartAPIServer(ctx))
	write(update, "s2", "s2")
	must(c.Delete(ctx, lease))
	until("what came after the outage", func(l Timeline) bool { return len(l.Moves(changed)) == 3 && l.Sessions["s1"].State == Gone })
	must(c.Delete(ctx, object))
	until("the end of the shard map", func(l Timeline) bool { return l.Now() == nil })
	if rings := o.Timeline().Rings; len(rings) != 5 {
		t.Errorf("%d shard maps were seen, want none, three and none: %+v", len(rings), rings)
	}
}
