package vcenter

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

func (r *Reconciler) leading() bool { return r.Leader == nil || r.Leader.Leading() }

// LeadershipChanged tells the Reconciler that Leader answers differently now. It does not block; call it after
// SetupWithManager. The controller then looks at every VCenter, so that a new leader writes what is due.
func (r *Reconciler) LeadershipChanged() {
	select {
	case r.elections <- event.TypedGenericEvent[struct{}]{}:
	default: // a look at all of them is due already
	}
}

// allVCenters asks for a pass over every VCenter.
func (r *Reconciler) allVCenters(ctx context.Context, _ event.TypedGenericEvent[struct{}], q queue) {
	var vcenters v1alpha1.VCenterList
	if err := r.Client.List(ctx, &vcenters); err != nil {
		// Each VCenter is looked at every lookInterval in any case.
		log.FromContext(ctx).Error(err, "VCenters cannot be listed; what a new leader has to write comes a little later")
		return
	}
	for _, vc := range vcenters.Items {
		q.Add(reconcile.Request{NamespacedName: types.NamespacedName{Name: vc.Name}})
	}
}
