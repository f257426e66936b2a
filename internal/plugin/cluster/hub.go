package cluster

import (
	"context"
	"errors"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// DefaultNamespace of the operator on the hub.
const DefaultNamespace = "vmgroup-operator-system"

// IsHub reports whether the cluster serves MemberClusters.
func (c *Cluster) IsHub(ctx context.Context) (bool, error) { return c.Serves(ctx, "MemberCluster") }

// Serves reports whether the cluster serves a kind of the operator's API.
func (c *Cluster) Serves(ctx context.Context, kind string) (bool, error) {
	_, err := c.RESTMapper().RESTMapping(v1alpha1.GroupVersion.WithKind(kind).GroupKind(), v1alpha1.GroupVersion.Version)
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	if err != nil {
		return false, Explain(c.Context, c.Config.Host, errors.Join(err, ctx.Err()))
	}
	return true, nil
}

// operatorBinding binds the ServiceAccount of the operator, whatever the namespace. Only administrators of the hub can write it: a Pod with the
// operator's labels can be another user's, and the namespace gets tokens.
const operatorBinding = "vmgroup-operator-manager"

// OperatorNamespace returns the namespace of the operator's ServiceAccount. If the user may not read its ClusterRoleBinding, or there is none, it
// returns [DefaultNamespace].
func (c *Cluster) OperatorNamespace(ctx context.Context) string {
	binding := &rbacv1.ClusterRoleBinding{}
	if err := c.Get(ctx, types.NamespacedName{Name: operatorBinding}, binding); err != nil || len(binding.Subjects) != 1 || binding.Subjects[0].Namespace == "" {
		return DefaultNamespace
	}
	return binding.Subjects[0].Namespace
}
