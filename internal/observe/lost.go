package observe

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/group/allowance"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// lost reads the hub's data about an unreadable vCenter, for a group that is being deleted. The time since which the vCenter is unreachable comes from the
// VCenter's condition, which outlives every replica.
func (g *gatherer) lost(ctx context.Context, s *group.Snapshot) error {
	if s.Unavailable == nil || s.Group.DeletionTimestamp.IsZero() {
		return nil
	}
	var vcenter v1alpha1.VCenter
	switch err := g.Hub.Get(ctx, types.NamespacedName{Name: s.VCenter}, &vcenter); {
	case apierrors.IsNotFound(err):
		s.Lost = group.Loss{Deleted: true, AllowedUntil: g.Member.ForgetAllowed}
	case err != nil:
		return fmt.Errorf("read VCenter %q from the hub: %w", s.VCenter, err)
	default:
		s.Lost.Since = unreachableSince(&vcenter)
		s.Lost.AllowedUntil = allowance.Until(&vcenter, v1alpha1.AllowForgetAnnotation)
	}
	if v1alpha1.ForgetAsked(s.Group) {
		if err := g.elsewhere(ctx, s); err != nil {
			return err
		}
	}
	s.TellForget()
	return nil
}

// unreachableSince returns the time since which the vCenter is unreachable according to the VCenter's condition, or zero.
func unreachableSince(vcenter *v1alpha1.VCenter) time.Time {
	c := meta.FindStatusCondition(vcenter.Status.Conditions, v1alpha1.ConditionReachable)
	if c == nil || c.Status != metav1.ConditionFalse {
		return time.Time{}
	}
	return c.LastTransitionTime.Time
}

// elsewhere searches all other VCenters for VMs of the group: if one has any, status names the wrong VCenter. A vCenter whose inventory is unknown can have
// some, unless it has been unreachable for so long that it counts as permanently lost.
func (g *gatherer) elsewhere(ctx context.Context, s *group.Snapshot) error {
	var all v1alpha1.VCenterList
	if err := g.Hub.List(ctx, &all); err != nil {
		return fmt.Errorf("read VCenters from the hub: %w", err)
	}
	for i := range all.Items {
		vcenter := &all.Items[i]
		if vcenter.Name == s.VCenter {
			continue
		}
		seen := g.sees(s, vcenter.Name)
		if slices.ContainsFunc(seen.VMs, func(vm vsphere.VM) bool { return vm.Stamp != nil && vm.Stamp.SameGroup(s.ID) }) {
			s.Lost.SeenIn = vcenter.Name
		}
		if !seen.Complete || len(seen.Unread) > 0 {
			s.Lost.Hidden = append(s.Lost.Hidden, hidden(s, vcenter))
		}
	}
	return nil
}

// hidden describes a VCenter whose inventory is unknown. The user of a group sees only the names of VCenters that the group can use.
func hidden(s *group.Snapshot, vcenter *v1alpha1.VCenter) group.Hidden {
	h := group.Hidden{Since: unreachableSince(vcenter)}
	if policy.CheckVCenter(vcenter.Name, vcenter.Spec.Grants, s.Requester) == nil {
		h.VCenter = vcenter.Name
	}
	return h
}
