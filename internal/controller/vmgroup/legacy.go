package vmgroup

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
)

// holdLegacy reports whether the group is one of the original operator that must be left alone. Its VMs carry
// no stamp and random names, so that acting on it as on a group of ours would clone every VM a second time.
func (p *pass) holdLegacy(ctx context.Context) (held bool, err error) {
	if !controllerutil.ContainsFinalizer(p.group, v1alpha1.LegacyFinalizer) {
		return false, nil
	}
	if p.group.Annotations[v1alpha1.AdoptAnnotation] == v1alpha1.AdoptAbandon {
		return false, p.patchFinalizers(ctx, controllerutil.RemoveFinalizer, v1alpha1.LegacyFinalizer)
	}
	message := fmt.Sprintf("this VmGroup carries the finalizer %q of the original operator, so it and its VMs are left untouched. "+
		"To leave those VMs to yourself and let this operator create new ones, annotate the VmGroup with %s=%s. "+
		"Taking the existing VMs over (%s) is not available in this version",
		v1alpha1.LegacyFinalizer, v1alpha1.AdoptAnnotation, v1alpha1.AdoptAbandon, v1alpha1.AdoptLegacy)
	return true, p.reportBlocked(ctx, plan.Blocker{Reason: v1alpha1.ReasonLegacyObject, Message: message, Terminal: true})
}
