package leave

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/caches"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// groupsAtOnce is the number of concurrent writes of groups: a distant member must be left within Timings.Leave.
const groupsAtOnce = 16

// letGoCost is the size that a released group counts for: the minimum number of bytes, besides its UID, to remember the group.
const letGoCost = 128

// letGroupsGo removes the operator's finalizer from every group of the member, so that users can delete a group or its
// namespace without the operator. It does nothing in vCenter.
//
// Another replica can miss that the member is left, and restores the finalizer as soon as it sees the group without it. So the
// search repeats until it finds no finalizer for Timings.Settle. Within that time, every replica observes the deleted
// MemberCluster and disengages. A replica without a connection to the hub loses its groups with its lease.
func (l *Leaver) letGroupsGo(ctx context.Context, apis remote.APIs) error {
	settle := l.Options.Timings.Settle
	quiet := time.NewTimer(settle)
	defer quiet.Stop()
	for {
		found, err := l.letFoundGo(ctx, apis)
		if err != nil {
			return err
		}
		if found > 0 {
			quiet.Reset(settle)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-quiet.C:
			return nil
		case <-time.After(settle / 4):
		}
	}
}

// letFoundGo goes through the groups once, page by page, and returns the number of groups with the operator's finalizer. A list
// can be endless: the search stops after more than the cache limit of the member.
func (l *Leaver) letFoundGo(ctx context.Context, apis remote.APIs) (found int, err error) {
	limit, size, page := apis.Guard.Limits.Kept, int64(0), ""
	for {
		list, err := groupPage(ctx, apis.Runtime, page)
		if apierrors.IsNotFound(err) {
			return 0, nil // there is no CRD, and so no group
		}
		if err != nil {
			return 0, fmt.Errorf("list VmGroups: %w", err)
		}
		carriers := make([]*metav1.PartialObjectMetadata, 0, len(list.Items))
		size += caches.PageCost
		for i := range list.Items {
			caches.Strip(&list.Items[i])
			size += untrusted.MemorySize(&list.Items[i])
			if controllerutil.ContainsFinalizer(&list.Items[i], v1alpha1.VmGroupFinalizer) {
				carriers = append(carriers, &list.Items[i])
			}
		}
		if size > limit || l.letGoBytes > limit {
			return 0, apis.Guard.Refuse(caches.EndlessList("VmGroup", limit))
		}
		if err := l.letPageGo(ctx, apis.Runtime, carriers); err != nil {
			return 0, err
		}
		found += len(carriers)
		if page = list.Continue; page == "" {
			return found, nil
		}
	}
}

// letPageGo removes the operator's finalizer from these groups.
func (l *Leaver) letPageGo(ctx context.Context, api *remote.API, carriers []*metav1.PartialObjectMetadata) error {
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(groupsAtOnce)
	for _, carrier := range carriers {
		group.Go(func() error {
			if err := letGo(ctx, api, carrier); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			if _, known := l.letGo[carrier.UID]; !known {
				l.letGo[carrier.UID] = struct{}{}
				l.letGoBytes += int64(len(carrier.UID)) + letGoCost
			}
			return nil
		})
	}
	return group.Wait()
}

func groupPage(ctx context.Context, api *remote.API, page string) (*metav1.PartialObjectMetadataList, error) {
	ctx, cancel := api.Bounded(ctx)
	defer cancel()
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("VmGroupList"))
	err := api.Client.List(ctx, list, client.Limit(remote.PageSize), client.Continue(page))
	return list, err
}

// letGo removes the operator's finalizer from one group, with an optimistic lock: finalizers are an atomic list, and those of
// others must not get lost. A group that changed since it was read is left for the next search.
func letGo(ctx context.Context, api *remote.API, group *metav1.PartialObjectMetadata) error {
	ctx, cancel := api.Bounded(ctx)
	defer cancel()
	group.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("VmGroup"))
	patch := client.MergeFromWithOptions(group.DeepCopy(), client.MergeFromWithOptimisticLock{})
	controllerutil.RemoveFinalizer(group, v1alpha1.VmGroupFinalizer)
	err := api.Client.Patch(ctx, group, patch, client.FieldOwner(install.FieldManager))
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove the finalizer of VmGroup %s/%s: %w", group.Namespace, group.Name, err)
	}
	return nil
}
