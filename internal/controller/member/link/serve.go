package link

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	clientevents "k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/caches"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/credential"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/renewal"
	"github.com/codeconnect/vmgroup-operator/internal/events"
	"github.com/codeconnect/vmgroup-operator/internal/memberapi"
)

// errClusterStopped: the member's cluster object ended on its own, which happens only on an internal error.
var errClusterStopped = errors.New("the member's caches stopped")

// lastError keeps the newest error of a member's informers: while they do not sync, it is the reason.
type lastError struct{ atomic.Pointer[error] }

// serve starts the member's caches, engages it once they are synced and checks its health. When it returns, the
// member is disengaged and every goroutine of its cluster has ended.
func (c *connection) serve(apis remote.APIs, uid string) (wasEngaged bool, err error) {
	api := apis.Runtime
	watchErrors := &lastError{}
	kept := caches.New(apis.Guard, c.provider.opts.Timings, c.provider.opts.Now)
	bare, err := c.newCluster(api, kept, watchErrors)
	if err != nil {
		return false, fmt.Errorf("set up the member's caches: %w", err)
	}
	ctx, cancel := context.WithCancel(c.ctx)
	defer context.AfterFunc(apis.Guard.Context(), cancel)()
	cl := &memberCluster{Cluster: bare, guard: apis.Guard}
	cl.recorder = events.New(events.Options{
		Client: cl.GetClient(), Instance: c.provider.opts.Instance, Now: c.provider.opts.Now, Log: c.log, Retry: events.DefaultRetry(),
	})
	stopped, recorded := make(chan error, 1), make(chan error, 1)
	go func() { stopped <- cl.Start(ctx) }()
	go func() { recorded <- cl.recorder.Start(ctx) }()
	c.move(Syncing)
	defer func() {
		if errors.Is(err, errRestored) {
			c.move(Refilling)
		} else {
			c.move(Disengaging)
		}
		cancel()
		api.End()
		if err := errors.Join(<-stopped, <-recorded); err != nil {
			c.log.Error(err, "The member's caches ended with an error")
		}
	}()

	if err := c.sync(ctx, cl, watchErrors); err != nil {
		if behind := kept.Problem(api.Host()); behind != nil && c.ctx.Err() == nil {
			return false, behind
		}
		return false, err
	}
	if err := c.publish(cl, apis, uid); err != nil {
		return false, err
	}
	if err := c.engage(ctx, cancel, cl); err != nil {
		return false, err
	}
	c.log.Info("The member is engaged", "clusterUID", uid)
	c.contact()
	c.enter(Engaged, nil)
	defer c.keeper.Keep(ctx, apis, uid)()
	defer c.renewer.Keep(ctx, c.renewed(apis)...)()
	return true, c.watchHealth(ctx, apis, uid, kept, stopped)
}

// renewed are the identities whose tokens the operator renews.
func (c *connection) renewed(apis remote.APIs) []renewal.Identity {
	var all []renewal.Identity
	if c.target.Renewal.Lifetime == 0 || c.provider.opts.Tokens == nil {
		return nil
	}
	if c.target.Token != nil {
		all = append(all, renewal.Identity{Name: credential.Member, Token: c.target.Token, Fingerprint: c.target.Renewal.Config, API: apis.Runtime})
	}
	if c.target.BootstrapToken != nil {
		all = append(all, renewal.Identity{Name: credential.Bootstrap, Token: c.target.BootstrapToken, Fingerprint: c.target.Renewal.Bootstrap, API: apis.Bootstrap})
	}
	return all
}

// memberCluster is a member's cluster whose clients check the answers, and whose events arrive in order.
type memberCluster struct {
	cluster.Cluster
	guard    *remote.Guard
	recorder *events.Recorder
}

// GetClient implements cluster.Cluster.
func (c *memberCluster) GetClient() client.Client { return c.guard.Client(c.Cluster.GetClient()) }

// GetAPIReader implements cluster.Cluster.
func (c *memberCluster) GetAPIReader() client.Reader { return c.guard.Reader(c.Cluster.GetAPIReader()) }

// GetEventRecorder implements cluster.Cluster. There is one recorder, whatever the name.
func (c *memberCluster) GetEventRecorder(string) clientevents.EventRecorder { return c.recorder }

// newCluster creates the member's cluster; it dials nothing.
func (c *connection) newCluster(api *remote.API, kept *caches.Informers, watchErrors *lastError) (cluster.Cluster, error) {
	base := func(o *cluster.Options) {
		o.Scheme = caches.NewScheme()
		o.HTTPClient = api.HTTPClient()
		o.Logger = c.log
		o.MapperProvider = func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return remote.NewMapper(), nil }
		o.Cache = cache.Options{
			NewInformer:      kept.NewInformer,
			DefaultTransform: kept.Keep,
			// A read of a kind that is not cached is an error and not a new, unbounded watch.
			ReaderFailOnMissingInformer: true,
			DefaultWatchErrorHandler: func(_ context.Context, _ *toolscache.Reflector, err error) {
				watchErrors.Store(new(remote.Brief(err)))
				if apierrors.IsNotFound(err) {
					c.joiner.DoubtCRD()
				}
				c.log.V(1).Info("A watch of the member broke and is begun again", "error", err.Error())
			},
		}
		// Secrets are read one at a time and never kept.
		o.Client = client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}}}}
	}
	return cluster.New(api.Config, append([]cluster.Option{base}, c.provider.opts.ClusterOptions...)...)
}

// sync begins the watches and waits until they have delivered all objects.
func (c *connection) sync(ctx context.Context, cl cluster.Cluster, watchErrors *lastError) error {
	syncCtx, cancel := context.WithTimeout(ctx, c.provider.opts.Timings.Sync)
	defer cancel()
	for _, object := range caches.Objects() {
		if _, err := cl.GetCache().GetInformer(syncCtx, object); err != nil {
			return c.syncProblem(err, watchErrors)
		}
	}
	if !cl.GetCache().WaitForCacheSync(syncCtx) {
		return c.syncProblem(syncCtx.Err(), watchErrors)
	}
	return c.joiner.WatchDeletions(syncCtx, cl)
}

func (c *connection) syncProblem(err error, watchErrors *lastError) error {
	if cause := watchErrors.Load(); cause != nil {
		err = *cause
	}
	return fmt.Errorf("fill the member's caches: %w", err)
}

// publish makes the member available to Get and the fleet.
func (c *connection) publish(cl cluster.Cluster, apis remote.APIs, uid string) error {
	c.provider.mu.Lock()
	defer c.provider.mu.Unlock()
	c.served = served{uid, apis, cl}
	if !c.enterLocked(Engaging) {
		return memberapi.ErrEnded
	}
	return nil
}

// engage hands the member to the multicluster manager. Controllers begin their watches inside this call and hold a
// lock meanwhile. The caches are synced, so that takes no time. A call that still hangs is ended with the cluster's
// context.
func (c *connection) engage(ctx context.Context, cancel context.CancelFunc, cl cluster.Cluster) error {
	c.provider.mu.RLock()
	aware := c.provider.aware
	c.provider.mu.RUnlock()
	watchdog := time.AfterFunc(c.provider.opts.Timings.Engage, cancel)
	err := aware.Engage(ctx, multicluster.ClusterName(c.target.Name), cl)
	if !watchdog.Stop() && err == nil {
		err = context.DeadlineExceeded
	}
	if err != nil {
		return &remote.Problem{Reason: v1alpha1.ReasonMemberUnreachable, Cause: err,
			Message: "The operator's controllers could not begin to watch the member. The operator's log holds the error."}
	}
	return nil
}
