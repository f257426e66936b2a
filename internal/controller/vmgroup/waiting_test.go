package vmgroup

import (
	"maps"
	"testing"

	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

func TestTheQueueReportsWhoWaitsForAWorker(t *testing.T) {
	if n := (&Reconciler{}).Waiting(); len(n) > 0 {
		t.Errorf("before the controller is set up %v wait", n)
	}
	r := newRig(t)
	for _, name := range []string{"runs", "a", "b"} {
		r.queue.Add(mcreconcile.Request{
			ClusterName: v1alpha1.LocalMember, Request: reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "team", Name: name}},
		})
	}
	if n := r.Waiting(); !maps.Equal(n, map[string]int{v1alpha1.LocalMember: 3}) {
		t.Errorf("%v wait, want 3 of the local member", n)
	}
	r.queue.Get()
	if n := r.Waiting(); !maps.Equal(n, map[string]int{v1alpha1.LocalMember: 2}) {
		t.Errorf("while a pass runs %v wait, want 2 of the local member", n)
	}
}
