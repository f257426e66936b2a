package member

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/renewal"
)

// +kubebuilder:rbac:groups=vm.codeconnect.vmworld.com,resources=memberclusters,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=vm.codeconnect.vmworld.com,resources=memberclusters/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=list;watch,namespace=system

// SetupWithManager adds the MemberCluster controller to the hub's manager mgr. The hub's client must cache Secrets
// of the operator's namespace (Options.Namespace) only, and MemberClusters. Every replica runs it, as it runs the
// provider, so that each has warm caches of each member. Only the leader writes (Options.Leader): otherwise two
// replicas with different views of a member would overwrite each other's status forever.
func (r *Reconciler) SetupWithManager(hub manager.Manager) error {
	err := builder.ControllerManagedBy(hub).
		Named("membercluster").
		// Our own status writes trigger passes on purpose: a pass that read the cache before the last write can have
		// found nothing to do, and only the event of that write corrects this. Such a pass costs no request.
		For(&v1alpha1.MemberCluster{}).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.membersOfSecret)).
		WatchesRawSource(r.provider.Source(hub.GetClient())).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: 4,
			NeedLeaderElection:      ptr.To(false),
			SkipNameValidation:      ptr.To(r.provider.Options().SkipNameValidation),
		}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the MemberCluster controller: %w", err)
	}
	return nil
}

// membersOfSecret finds the MemberClusters whose kubeconfig or renewed tokens are in a Secret. There are few of both, so a list from
// the cache suffices.
func (r *Reconciler) membersOfSecret(ctx context.Context, secret client.Object) []reconcile.Request {
	if secret.GetNamespace() != r.provider.Options().Namespace {
		return nil
	}
	list := &v1alpha1.MemberClusterList{}
	if err := r.client.List(ctx, list); err != nil {
		ctrl.Log.WithName("member").Error(err, "MemberClusters cannot be listed; a changed kubeconfig is not picked up",
			"secret", secret.GetName())
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		spec := &list.Items[i].Spec
		if lifetimeOf(spec) > 0 && renewal.SecretOf(list.Items[i].Name) == secret.GetName() {
			requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Name: list.Items[i].Name}})
			continue
		}
		for _, ref := range []*v1alpha1.KubeconfigReference{spec.KubeconfigSecretRef, spec.BootstrapKubeconfigSecretRef} {
			if ref != nil && ref.Name == secret.GetName() {
				requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Name: list.Items[i].Name}})
				break
			}
		}
	}
	return requests
}
