package vmgroup

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/group/allowance"
)

// lost reads what the hub says of a vCenter that cannot be looked at, for a group that is being deleted. Since when it is away is what its condition says, which
// outlives every replica.
func (g gatherer) lost(ctx context.Context, s *group.Snapshot) error {
	if s.Unavailable == nil || s.Group.DeletionTimestamp.IsZero() {
		return nil
	}
	var vcenter v1alpha1.VCenter
	switch err := g.hub.Get(ctx, types.NamespacedName{Name: s.VCenter}, &vcenter); {
	case apierrors.IsNotFound(err):
		s.Lost = group.Loss{Deleted: true, AllowedUntil: g.member.ForgetAllowed}
	case err != nil:
		return fmt.Errorf("read VCenter %q from the hub: %w", s.VCenter, err)
	default:
		if c := meta.FindStatusCondition(vcenter.Status.Conditions, v1alpha1.ConditionReachable); c != nil && c.Status == metav1.ConditionFalse {
			s.Lost.Since = c.LastTransitionTime.Time
		}
		s.Lost.AllowedUntil = allowance.Until(&vcenter, v1alpha1.AllowForgetAnnotation)
	}
	if v1alpha1.ForgetAsked(s.Group) {
		seen, err := g.seenIn(ctx, s)
		if err != nil {
			return err
		}
		s.Lost.SeenIn = seen
	}
	s.TellForget()
	return nil
}

// seenIn is another VCenter than the group's that has VMs with its stamp, or empty: then it is status that names the wrong one.
func (g gatherer) seenIn(ctx context.Context, s *group.Snapshot) (string, error) {
	var all v1alpha1.VCenterList
	if err := g.hub.List(ctx, &all); err != nil {
		return "", fmt.Errorf("read VCenters from the hub: %w", err)
	}
	for i := range all.Items {
		name := all.Items[i].Name
		if name == s.VCenter {
			continue
		}
		seen := g.sees(s, name)
		for i := range seen.VMs {
			if stamp := seen.VMs[i].Stamp; stamp != nil && stamp.SameGroup(s.ID) {
				return name, nil
			}
		}
	}
	return "", nil
}
