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

// cachesSynced reports ready once the hub's caches are filled. It ignores members and vCenters: an
// unreachable one must not make the operator unready for the others.
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
