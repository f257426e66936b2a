package cluster

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// operatorLabels select the Pods and Secrets of the operator.
var operatorLabels = client.MatchingLabels{"app.kubernetes.io/name": "vmgroup-operator"}

// DefaultNamespace of the operator on the hub.
const DefaultNamespace = "vmgroup-operator-system"

// IsHub reports whether the cluster serves MemberClusters.
func (c *Cluster) IsHub(ctx context.Context) (bool, error) {
	_, err := c.RESTMapper().RESTMapping(v1alpha1.GroupVersion.WithKind("MemberCluster").GroupKind(), v1alpha1.GroupVersion.Version)
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	if err != nil {
		return false, Explain(c.Context, c.Config.Host, errors.Join(err, ctx.Err()))
	}
	return true, nil
}

// OperatorNamespace returns the namespace of the operator on the hub: that of its Pods. If the user may not list Pods, or none runs, it returns
// [DefaultNamespace].
func (c *Cluster) OperatorNamespace(ctx context.Context) string {
	pods := &corev1.PodList{}
	if err := c.List(ctx, pods, operatorLabels, client.Limit(1)); err != nil || len(pods.Items) == 0 {
		return DefaultNamespace
	}
	return pods.Items[0].Namespace
}
