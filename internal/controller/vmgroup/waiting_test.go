package vmgroup

import (
	"maps"
	"testing"

	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"
)

func TestTheQueueReportsWhoWaitsForAWorker(t *testing.T) {
	r := &Reconciler{}
	if n := r.Waiting(); len(n) > 0 {
		t.Errorf("before the controller runs %v wait", n)
	}
	r.limiter = newLimiter(2)
	enter := func(member, name, vcenter string) func() {
		leave, _ := r.limiter.enter(mcreconcile.Request{
			ClusterName: multicluster.ClusterName(member), Request: reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: name}},
		}, vcenter)
		return leave
	}
	leave := enter("m-1", "runs", "vc-1")
	enter("m-1", "a", "vc-1")
	enter("m-1", "b", "vc-2")
	if n := r.Waiting(); !maps.Equal(n, map[string]int{"m-1": 2}) {
		t.Errorf("%v wait, want 2 of m-1", n)
	}
	leave()
	if n := r.Waiting(); n["m-1"] != 1 {
		t.Errorf("after a pass has ended %v wait, want 1 of m-1", n)
	}
}
