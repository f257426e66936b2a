package operator

import (
	"context"
	"errors"
	"net/http"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
)

var errCaches = errors.New("the caches of the hub are not filled yet")

// cachesSynced reports ready once the hub's caches are filled. Members and vCenters do not count: one that
// cannot be reached must not take the operator away from the others.
func cachesSynced(hub cluster.Cluster) healthz.Checker {
	return func(req *http.Request) error {
		ctx, cancel := context.WithTimeout(req.Context(), time.Second)
		defer cancel()
		if !hub.GetCache().WaitForCacheSync(ctx) {
			return errCaches
		}
		return nil
	}
}
