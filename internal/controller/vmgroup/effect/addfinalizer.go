package effect

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Newcomers records groups that get their finalizer. A deletion that began before can remove such a group in spite of it.
type Newcomers interface {
	// Claiming is called before the finalizer is written.
	Claiming(key vsphere.GroupKey, of *v1alpha1.VmGroup, restores uint64, now time.Time)
}

// addFinalizer adds the operator's finalizer.
type addFinalizer struct{ newcomers Newcomers }

// Do implements Effect.
func (a addFinalizer) Do(ctx context.Context, p *Pass, s *group.Snapshot, _ group.Decision) (Outcome, error) {
	a.newcomers.Claiming(s.ID.Key(), s.Group, p.Member.Restores, p.Now)
	return Outcome{}, p.patchFinalizers(ctx, s, controllerutil.AddFinalizer, v1alpha1.VmGroupFinalizer)
}
