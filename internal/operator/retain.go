package operator

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	clientmetrics "k8s.io/client-go/tools/metrics"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	definitions "github.com/codeconnect/vmgroup-operator/internal/metrics"
)

// seriesInterval is how often the series of deleted objects are removed.
const seriesInterval = time.Minute

// series is a manager.Runnable that removes the series of MemberClusters and VCenters that do not exist any more.
type series struct {
	// hub reads from a cache.
	hub client.Reader
}

// NeedLeaderElection makes a manager run it on every replica: each has its own series.
func (series) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (s series) Start(ctx context.Context) error {
	wait.UntilWithContext(ctx, s.retain, seriesInterval)
	return nil
}

// retain removes nothing while the objects are unknown.
func (s series) retain(ctx context.Context) {
	members, vcenters := &v1alpha1.MemberClusterList{}, &v1alpha1.VCenterList{}
	for _, list := range []client.ObjectList{members, vcenters} {
		if err := s.hub.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			log.FromContext(ctx).V(1).Info("Series of deleted objects stay for now: the objects of the hub could not be listed", "error", err.Error())
			return
		}
	}
	exist := map[string]sets.Set[string]{"member": {}, "vcenter": {}}
	for i := range members.Items {
		exist["member"].Insert(members.Items[i].Name)
	}
	for i := range vcenters.Items {
		exist["vcenter"].Insert(vcenters.Items[i].Name)
	}
	for label, names := range exist {
		definitions.Retain(label, names.Has)
	}
}

// controller-runtime, which this package imports, has set the metric.
func init() { clientmetrics.RequestResult = withoutHosts{clientmetrics.RequestResult} }

// withoutHosts counts requests of Kubernetes clients without their label host: each member that ever joined would keep its series.
type withoutHosts struct{ clientmetrics.ResultMetric }

// Increment implements clientmetrics.ResultMetric.
func (w withoutHosts) Increment(ctx context.Context, code, method, _ string) {
	w.ResultMetric.Increment(ctx, code, method, "")
}
