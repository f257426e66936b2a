//go:build unix

package member

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// lagging is a cache of the hub that can lag: while behind is set, it still has that MemberCluster.
type lagging struct {
	client.Client
	behind *v1alpha1.MemberCluster
}

func (l *lagging) Get(ctx context.Context, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	if mc, ok := object.(*v1alpha1.MemberCluster); ok && l.behind != nil {
		l.behind.DeepCopyInto(mc)
		return nil
	}
	return l.Client.Get(ctx, key, object, opts...)
}

type nobody struct{}

func (nobody) Engage(context.Context, multicluster.ClusterName, cluster.Cluster) error { return nil }
