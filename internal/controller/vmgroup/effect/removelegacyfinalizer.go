package effect

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
)

// removeLegacyFinalizer removes the finalizer of the original operator.
type removeLegacyFinalizer struct{}

// Do implements Effect.
func (removeLegacyFinalizer) Do(ctx context.Context, p *Pass, s *group.Snapshot, _ group.Decision) (Outcome, error) {
	return Outcome{}, p.patchFinalizers(ctx, s, controllerutil.RemoveFinalizer, v1alpha1.LegacyFinalizer)
}
