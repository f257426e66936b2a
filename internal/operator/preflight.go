package operator

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// preflight checks that the hub is usable, so that a missing installation step results in one clear error
// instead of caches that never fill. It returns the permanent ID of this installation: the UID of the hub's
// namespace kube-system. So an operator that was uninstalled and installed again recognizes its VMs and members.
func preflight(ctx context.Context, hub *rest.Config, scheme *runtime.Scheme) (installation string, err error) {
	c, err := client.New(hub, client.Options{Scheme: scheme})
	if err != nil {
		return "", fmt.Errorf("connect to the hub: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for _, list := range []client.ObjectList{&v1alpha1.VCenterList{}, &v1alpha1.MemberClusterList{}} {
		err := c.List(ctx, list, client.Limit(1))
		if meta.IsNoMatchError(err) {
			return "", fmt.Errorf("the hub does not serve the operator's kinds; apply config/default, or config/crd, first: %w", err)
		}
		if err != nil {
			return "", fmt.Errorf("read from the hub; is config/rbac applied?: %w", err)
		}
	}
	var namespace corev1.Namespace
	if err := c.Get(ctx, types.NamespacedName{Name: metav1.NamespaceSystem}, &namespace); err != nil {
		return "", fmt.Errorf("read the hub's namespace kube-system, whose UID identifies this installation: %w", err)
	}
	return string(namespace.UID), nil
}
