//go:build unix && slow

package rollout

import (
	"context"
	"fmt"
	"regexp"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// bootMark is in the user agent of each process.
var bootMark = regexp.MustCompile(`; boot ([^;)]+);`)

const annotations = "sharding.vmgroup-operator.vm.codeconnect.vmworld.com/"

// owner is the replica that has sent the last changing call for the group.
func (f *fleet) owner() *stack.Replica {
	f.t.Helper()
	calls := f.changes()
	if len(calls) == 0 {
		f.t.Fatal("nothing was changed for the group")
	}
	boot := bootMark.FindStringSubmatch(calls[len(calls)-1].UserAgent)
	var leases coordinationv1.LeaseList
	if err := shared.Hub.List(f.t.Context(), &leases, client.InNamespace(stack.Namespace)); err != nil {
		f.t.Fatal(err)
	}
	for i := range leases.Items {
		if boot == nil || leases.Items[i].Annotations[annotations+"boot"] != boot[1] {
			continue
		}
		for _, r := range shared.Replicas {
			if r.Name == leases.Items[i].Annotations[annotations+"host"] {
				return r
			}
		}
	}
	f.t.Fatalf("no replica is %s", calls[len(calls)-1].UserAgent)
	return nil
}

// killOwner kills the group's owner and restarts it, like a kubelet.
func (f *fleet) killOwner() {
	f.t.Helper()
	r := f.owner()
	r.Kill()
	f.t.Logf("%s is killed, with %d changes sent", r.Name, len(f.changes()))
	if err := r.Restart(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
}

// killAll kills all replicas, and startAll restarts them and waits until they are ready.
func (f *fleet) killAll() {
	for _, r := range shared.Replicas {
		r.Kill()
	}
}

func (f *fleet) startAll() {
	f.t.Helper()
	for _, r := range shared.Replicas {
		if err := r.Restart(f.t.Context()); err != nil {
			f.t.Fatal(err)
		}
	}
	for _, r := range shared.Replicas {
		await.Until(f.t, r.Name+" to be ready", func(ctx context.Context) (bool, error) { return r.Ready(ctx), nil })
	}
}

// takeOver kills all replicas, runs a function in that time, starts them, and waits until another owner has seen an
// edit without an effect: without any edit, an owner writes nothing.
func (f *fleet) takeOver(meanwhile func()) {
	f.t.Helper()
	f.killAll()
	meanwhile()
	g := f.object()
	await.NoError(f.t, "the group to be read", func() error { return f.cluster.Get(f.t.Context(), f.key, g) })
	before := f.epoch(g)
	f.startAll()
	f.edits++
	f.patch(fmt.Sprintf(`{"spec":{"readiness":{"progressDeadlineSeconds":%d}}}`, 10_000+f.edits))
	f.until(fmt.Sprintf("another owner than %+v", before), func(g *v1alpha1.VmGroup) bool { return before.Less(f.epoch(g)) })
}

// epoch of the group's last owner, even if its status does not name it any more.
func (f *fleet) epoch(g *v1alpha1.VmGroup) v1alpha1.Epoch {
	if g.Status.Ownership != nil {
		f.last = g.Status.Ownership.Epoch
	}
	return f.last
}
