package observe

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

// Quotas returns the quotas that a change of a group would exceed. *quota.Ledger implements it.
type Quotas interface {
	Check(ctx context.Context, by policy.Requester, old, next *v1alpha1.VmGroup) []policy.Violation
}

// Reviewer answers the queries of webhooks and policies about groups, including quotas. It implements webhook.Knowledge.
type Reviewer struct {
	*Observer
	Quotas Quotas
}

// Quota implements webhook.Knowledge.
func (r *Reviewer) Quota(ctx context.Context, by policy.Requester, old, next *v1alpha1.VmGroup) []policy.Violation {
	return r.Quotas.Check(ctx, by, old, next)
}

// EvaluateAll calls yield for every group of every engaged member, with the violations of a set's policies by its spec,
// including quotas. It omits groups that are being deleted, which are exempt. It reads memory, and is for counting.
func (r *Reviewer) EvaluateAll(ctx context.Context, set *policy.Set, yield func(policy.Requester, []policy.Violation)) error {
	requesters := map[[2]string]policy.Requester{}
	for _, member := range r.Fleet.ListedMembers() {
		if _, engaged := r.Fleet.Member(member); !engaged {
			continue
		}
		cl, err := r.Clusters.GetCluster(ctx, multicluster.ClusterName(member))
		if err != nil {
			continue // the operator has just left it
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

// broken returns the rules that the present spec of one group violates.
func (r *Reviewer) broken(ctx context.Context, set *policy.Set, requester policy.Requester, of *v1alpha1.VmGroup) []policy.Violation {
	var t template
	if inventory, ok := r.Servers.Server(group.VCenterOf(of)); ok && of.Spec.Template != "" {
		found, err := inventory.Template(of.Spec.Template)
		t = template{found.Path, vsphere.KindOf(err) == vsphere.KindNotFound}
	}
	violations := withOthers(set, requester, of, t, set.Evaluate(requester, of.Spec, t.path))
	if len(set.Quotas(requester)) > 0 {
		var held *v1alpha1.VmGroup
		if member, ok := r.Fleet.Member(requester.Member); ok {
			if a := r.Record(member, vsphere.KeyOf(member.UID, string(of.UID))).Admitted; a != nil {
				held = &v1alpha1.VmGroup{ObjectMeta: of.ObjectMeta, Spec: policy.AdmittedSpec(of.Spec, *a)}
			}
		}
		violations = append(violations, r.Quotas.Check(ctx, requester, held, of)...)
	}
	return violations
}
