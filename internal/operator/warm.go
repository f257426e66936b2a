package operator

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/link"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// warmPatience limits how long a replica that has just started waits for its members and vCenters before it takes a share
// of the groups. An unreachable one must not keep it from serving the others.
const warmPatience = 5 * time.Second

var errCold = errors.New("the caches are not filled yet")

// warmUp allows the replica to take buckets once its caches are filled: the holder of a bucket must be able to act.
type warmUp struct {
	hub      cluster.Cluster
	members  *link.Provider
	vcenters vsphere.Servers
	ready    func()
	done     atomic.Bool
}

// Start implements manager.Runnable.
func (w *warmUp) Start(ctx context.Context) error {
	if !w.hub.GetCache().WaitForCacheSync(ctx) {
		return nil // the manager is stopping
	}
	hub := w.hub.GetClient()
	_ = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, warmPatience, true, func(ctx context.Context) (bool, error) {
		warm, err := w.members.Warm(ctx, hub)
		return warm && err == nil && w.inventories(ctx, hub), nil
	})
	w.done.Store(true)
	w.ready()
	<-ctx.Done()
	return nil
}

// inventories reports whether the inventory of every VCenter is known.
func (w *warmUp) inventories(ctx context.Context, hub client.Reader) bool {
	list := &v1alpha1.VCenterList{}
	if err := hub.List(ctx, list); err != nil {
		return false
	}
	for i := range list.Items {
		if server, ok := w.vcenters.Server(list.Items[i].Name); !ok || !server.Health().Complete {
			return false
		}
	}
	return true
}

// check is for /readyz: a rolling update must not continue before the new replica can take its share.
func (w *warmUp) check(*http.Request) error {
	if !w.done.Load() {
		return errCold
	}
	return nil
}
