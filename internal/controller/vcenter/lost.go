package vcenter

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/group/allowance"
)

// givenUp reports whether a vCenter is permanently lost: it was unreachable for group.ForgetAfter, and a hub administrator confirmed the loss. Its unreachable
// VMs then do not delay the deletion of the VCenter. Its groups do until they are forgotten, so the groups of all members must be known.
func (r *Reconciler) givenUp(ctx context.Context, vc *v1alpha1.VCenter) bool {
	c := meta.FindStatusCondition(vc.Status.Conditions, v1alpha1.ConditionReachable)
	if c == nil || c.Status != metav1.ConditionFalse || r.Now().Sub(c.LastTransitionTime.Time) < group.ForgetAfter {
		return false
	}
	if allowed, _ := allowance.Counts(allowance.Until(vc, v1alpha1.AllowForgetAnnotation), r.Now()); !allowed {
		return false
	}
	var list v1alpha1.MemberClusterList
	if err := r.Client.List(ctx, &list); err != nil {
		return false
	}
	members := make([]string, len(list.Items))
	for i := range list.Items {
		members[i] = list.Items[i].Name
	}
	_, known := r.Groups.Expected(vc.Name, members)
	return known
}
