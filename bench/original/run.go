package original

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// Resync is the interval in which the original reconciles every group without an event.
const Resync = 5 * time.Minute

// Options of the original.
type Options struct {
	// Kubeconfig is the file of the cluster to serve, which must have the VmGroup kind.
	Kubeconfig string
	// URL of the vCenter's SDK, with the login.
	URL, Username, Password string
	// Root is the inventory path of an existing folder for the groups.
	Root string
}

// Run serves one cluster until ctx ends.
func Run(ctx context.Context, o Options) error {
	ctrl.SetLogger(logr.Discard())
	config, err := clientcmd.BuildConfigFromFlags("", o.Kubeconfig)
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	// The values that controller-runtime set at the time.
	config.QPS, config.Burst = 20, 30
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return err
	}
	resync := Resync
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Metrics: server.Options{BindAddress: "0"}, Cache: cache.Options{SyncPeriod: &resync},
	})
	if err != nil {
		return fmt.Errorf("prepare the manager: %w", err)
	}
	v, err := login(ctx, o.URL, o.Username, o.Password, o.Root)
	if err != nil {
		return err
	}
	err = ctrl.NewControllerManagedBy(mgr).Named("original").For(&v1alpha1.VmGroup{}).
		Complete(&reconciler{client: mgr.GetClient(), vcenter: v})
	if err != nil {
		return fmt.Errorf("prepare the controller: %w", err)
	}
	return mgr.Start(ctx)
}
