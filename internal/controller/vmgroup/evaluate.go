package vmgroup

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// EvaluateAll calls yield for every group of every member that is engaged, with what its spec breaks of a set's policies, quotas
// included. Groups that are being deleted are exempt and left out. It reads memory, and is for counting.
func (r *Reconciler) EvaluateAll(ctx context.Context, set *policy.Set, yield func(policy.Requester, []policy.Violation)) error {
	requesters := map[[2]string]policy.Requester{}
	for _, member := range r.Fleet.ListedMembers() {
		if _, engaged := r.Fleet.Member(member); !engaged {
			continue
		}
		cl, err := r.Clusters.GetCluster(ctx, multicluster.ClusterName(member))
		if err != nil {
			continue // it has just been left
		}
		var list v1alpha1.VmGroupList
		if err := cl.GetClient().List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("list VmGroups of member %q: %w", member, err)
		}
		for i := range list.Items {
			group := &list.Items[i]
			if !group.DeletionTimestamp.IsZero() {
				continue
			}
			where := [2]string{member, group.Namespace}
			requester, ok := requesters[where]
			if !ok {
				if requester, err = requesterOf(ctx, cl.GetClient(), member, group.Namespace); err != nil {
					return err
				}
				requesters[where] = requester
			}
			yield(requester, r.broken(ctx, set, requester, group))
		}
	}
	return nil
}

// broken are the rules that one group breaks, which is not changed.
func (r *Reconciler) broken(ctx context.Context, set *policy.Set, requester policy.Requester, of *v1alpha1.VmGroup) []policy.Violation {
	var t template
	if inventory, ok := r.inventory(group.VCenterOf(of)); ok && of.Spec.Template != "" {
		found, err := inventory.Template(of.Spec.Template)
		t = template{found.Path, vsphere.KindOf(err) == vsphere.KindNotFound}
	}
	violations := withOthers(set, requester, of, t, set.Evaluate(requester, of.Spec, t.path))
	if r.Quotas != nil && len(set.Quotas(requester)) > 0 {
		var held *v1alpha1.VmGroup
		if member, ok := r.Fleet.Member(requester.Member); ok {
			if a := r.record(member, keyOf(member.UID, of)).Admitted; a != nil {
				held = &v1alpha1.VmGroup{ObjectMeta: of.ObjectMeta, Spec: policy.AdmittedSpec(of.Spec, *a)}
			}
		}
		violations = append(violations, r.Quotas.Check(ctx, requester, held, of)...)
	}
	return violations
}
