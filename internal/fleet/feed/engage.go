package feed

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"
	mcsource "sigs.k8s.io/multicluster-runtime/pkg/source"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Engage implements multicluster.Aware. It lists the groups and namespaces of a member before it watches them, so quotas
// are known. The fleet drops groups that were deleted while no watch was open, and confirmations of namespaces
// that were deleted or withdrawn meanwhile. The caches of the member are filled. After an error, the member is not
// engaged: the provider reports the error and retries. The watches end with ctx.
func (f *Feed) Engage(ctx context.Context, member multicluster.ClusterName, cl cluster.Cluster) error {
	if err := f.list(ctx, member, cl); err != nil {
		return err
	}
	return f.watch(ctx, member, cl)
}

// watch delivers the groups and namespaces of a member, and each change until ctx ends. A controller does not start the sources,
// because it keeps a goroutine for each when ctx ends (ADR 121).
func (f *Feed) watch(ctx context.Context, member multicluster.ClusterName, cl cluster.Cluster) error {
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	for _, kind := range []mcsource.Source{
		mcsource.Kind[client.Object](&v1alpha1.VmGroup{}, f.Groups),
		mcsource.Kind[client.Object](namespace, f.Namespaces, NamespaceChanged()),
	} {
		source, _, err := kind.ForCluster(member, cl)
		if err != nil {
			return fmt.Errorf("watch member %q: %w", member, err)
		}
		if err := source.Start(ctx, nil); err != nil {
			return fmt.Errorf("watch member %q: %w", member, err)
		}
	}
	return nil
}

// list makes the fleet have the groups of a member and the confirmations of its namespaces.
func (f *Feed) list(ctx context.Context, member multicluster.ClusterName, cl cluster.Cluster) error {
	existing := &v1alpha1.VmGroupList{}
	if err := cl.GetClient().List(ctx, existing, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list the groups of member %q: %w", member, err)
	}
	namespaces := &metav1.PartialObjectMetadataList{}
	namespaces.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
	if err := cl.GetClient().List(ctx, namespaces, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list the namespaces of member %q: %w", member, err)
	}
	served, ok := f.fleet.Member(string(member))
	if !ok {
		return fmt.Errorf("list the groups of member %q: it is not served any more", member)
	}
	confirmed := map[string]struct{}{}
	for i := range namespaces.Items {
		if n := &namespaces.Items[i]; confirmsAll(n) {
			confirmed[n.Name] = struct{}{}
		}
	}
	f.fleet.ConfirmOnly(string(member), confirmed)
	these := make(map[fleet.Ref]vsphere.GroupKey, len(existing.Items))
	for i := range existing.Items {
		of := &existing.Items[i]
		ref, key := named(member, served.UID, of)
		these[ref] = key
		f.fleet.SetGroup(ref, key, of, group.VCenterOf(of))
	}
	f.fleet.KeepOnly(string(member), these)
	f.fleet.List(string(member))
	return nil
}
