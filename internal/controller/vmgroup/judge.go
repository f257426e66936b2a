package vmgroup

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Judge calls yield for every group of every member that is engaged, with what its spec breaks of a set's policies, quotas
// included. Groups that are being deleted are exempt and left out. It reads memory, and is for counting.
func (r *Reconciler) Judge(ctx context.Context, set *policy.Set, yield func(policy.Requester, []policy.Violation)) error {
	requesters := map[[2]string]policy.Requester{}
	for _, member := range r.Groups.listedMembers() {
		if _, engaged := r.Members(member); !engaged {
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
			yield(requester, r.violations(set, requester, group))
		}
	}
	return nil
}

// violations of one group, which is not changed.
func (r *Reconciler) violations(set *policy.Set, requester policy.Requester, group *v1alpha1.VmGroup) []policy.Violation {
	path, missing, vcenter := "", false, vcenterOf(group)
	if server, ok := r.Servers.Server(vcenter); ok && group.Spec.Template != "" {
		template, err := server.Template(group.Spec.Template)
		path, missing = template.Path, vsphere.KindOf(err) == vsphere.KindNotFound
	}
	violations := set.Evaluate(requester, group.Spec, path)
	if missing {
		refused, kept := set.MissingTemplate(requester, nil, group.Spec, vcenter)
		violations = append(append(violations, refused...), kept...)
	}
	if checker, ok := r.Quotas.(quotaChecker); ok && len(set.Quotas(requester)) > 0 {
		var held *v1alpha1.VmGroup
		if a := group.Status.Admitted; a != nil {
			held = &v1alpha1.VmGroup{ObjectMeta: group.ObjectMeta, Spec: policy.AdmittedSpec(group.Spec, *a)}
		}
		violations = append(violations, checker.Check(requester, held, group)...)
	}
	return violations
}

// quotaChecker says from memory what quotas would refuse. *quota.Ledger implements it.
type quotaChecker interface {
	Check(r policy.Requester, old, next *v1alpha1.VmGroup) []policy.Violation
}
