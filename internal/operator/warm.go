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

// warmPatience bounds how long a replica that has just started waits for its members and vCenters before it takes a share
// of the groups. One that cannot be reached must not keep it from serving the others.
const warmPatience = 5 * time.Second

var errCold = errors.New("the caches are not filled yet")

// warmUp lets the replica take buckets once its caches are filled: whoever holds a bucket should be able to act.
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

// check is for /readyz: an update must not go on before the new replica can take its share.
func (w *warmUp) check(*http.Request) error {
	if !w.done.Load() {
		return errCold
	}
	return nil
}
