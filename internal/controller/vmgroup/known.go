package vmgroup

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// known lists a member's groups when it is engaged, before the controller watches them: it must be added to the manager before the
// controller is. Then quotas are known, and groups are dropped that were deleted while nobody watched. So are confirmations of namespaces that are gone,
// or that were taken back meanwhile.
type known struct{ fleet *fleet.Fleet }

// Engage implements multicluster.Aware. The caches of the member are filled. If they cannot be listed, the member is not engaged, and whoever
// connects to it tries again and says so.
func (k known) Engage(ctx context.Context, member multicluster.ClusterName, cl cluster.Cluster) error {
	existing := &v1alpha1.VmGroupList{}
	if err := cl.GetClient().List(ctx, existing, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list the groups of member %q: %w", member, err)
	}
	namespaces := &metav1.PartialObjectMetadataList{}
	namespaces.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
	if err := cl.GetClient().List(ctx, namespaces, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list the namespaces of member %q: %w", member, err)
	}
	served, ok := k.fleet.Member(string(member))
	if !ok {
		return fmt.Errorf("list the groups of member %q: it is not served any more", member)
	}
	confirmed := map[string]struct{}{}
	for i := range namespaces.Items {
		if n := &namespaces.Items[i]; confirmsAll(n) {
			confirmed[n.Name] = struct{}{}
		}
	}
	k.fleet.ConfirmOnly(string(member), confirmed)
	these := make(map[fleet.Ref]vsphere.GroupKey, len(existing.Items))
	for i := range existing.Items {
		group := &existing.Items[i]
		ref, key := refOf(requestOf(member, group)), keyOf(served.UID, group)
		these[ref] = key
		k.fleet.SetGroup(ref, key, group, vcenterOf(group))
	}
	k.fleet.KeepOnly(string(member), these)
	k.fleet.List(string(member))
	return nil
}

// Start implements manager.Runnable; nothing runs.
func (known) Start(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (known) NeedLeaderElection() bool { return false }
