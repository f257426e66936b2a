package world

import (
	"context"
	"errors"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	controllerconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"
)

// hubManager is the hub's manager below multicluster-runtime's manager. It runs the added runnables without a network.
type hubManager struct {
	manager.Manager
	client client.Client
	cache  cache.Cache

	runnables []manager.Runnable
}

// Add implements manager.Manager. It must not be called after the start.
func (m *hubManager) Add(r manager.Runnable) error {
	m.runnables = append(m.runnables, r)
	return nil
}

// Start implements manager.Manager.
func (m *hubManager) Start(ctx context.Context) error {
	var running sync.WaitGroup
	errs := make([]error, len(m.runnables))
	for i, r := range m.runnables {
		running.Go(func() { errs[i] = r.Start(ctx) })
	}
	running.Wait()
	return errors.Join(errs...)
}

// GetScheme implements manager.Manager. Nothing is decoded in a world.
func (m *hubManager) GetScheme() *runtime.Scheme { return runtime.NewScheme() }

// GetClient implements manager.Manager.
func (m *hubManager) GetClient() client.Client { return m.client }

// GetCache implements manager.Manager.
func (m *hubManager) GetCache() cache.Cache { return m.cache }

// GetLogger implements manager.Manager.
func (m *hubManager) GetLogger() logr.Logger { return logr.Discard() }

// GetControllerOptions implements manager.Manager. Names are not validated, because each replica of a world has a group controller in the
// same process.
func (m *hubManager) GetControllerOptions() controllerconfig.Controller {
	return controllerconfig.Controller{SkipNameValidation: new(true)}
}

// memberCluster is multicluster-runtime's cluster and provider of the member.
type memberCluster struct {
	cluster.Cluster
	client *groupClient
	cache  *groupCache
}

// Get implements multicluster.Provider.
func (m *memberCluster) Get(context.Context, multicluster.ClusterName) (cluster.Cluster, error) {
	return m, nil
}

// IndexField implements multicluster.Provider.
func (m *memberCluster) IndexField(context.Context, client.Object, string, client.IndexerFunc) error {
	return errNotInThisWorld
}

// GetClient implements cluster.Cluster.
func (m *memberCluster) GetClient() client.Client { return m.client }

// GetAPIReader implements cluster.Cluster. It is for quotas and Secrets, which a world does not have.
func (m *memberCluster) GetAPIReader() client.Reader { return m.client }

// GetCache implements cluster.Cluster.
func (m *memberCluster) GetCache() cache.Cache { return m.cache }

// GetEventRecorder implements cluster.Cluster. Events are discarded.
func (m *memberCluster) GetEventRecorder(string) events.EventRecorder { return &events.FakeRecorder{} }
