package vmgroup

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	mchandler "sigs.k8s.io/multicluster-runtime/pkg/handler"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
)

// namespacePause is the time between two rounds over namespaces of which there are news.
const namespacePause = time.Second

// memberNamespace is a namespace of a member.
type memberNamespace struct{ member, namespace string }

// namespaceNews keeps news of namespaces until they are taken to the groups. An informer keeps events without a bound for a handler that is slow, and who
// answers for a member can send thousands a second. So the handler only keeps the last news of each namespace, whatever many groups it has.
type namespaceNews struct {
	fleet *fleet.Fleet

	mu   sync.Mutex
	news map[memberNamespace]namespaceState
	// some wakes Start up.
	some chan struct{}
}

// namespaceState is what is new of a namespace.
type namespaceState struct {
	// confirmed says whether all that its groups remove is confirmed.
	confirmed bool
	// changed says that its groups are to be reconciled.
	changed bool
}

func newNamespaceNews(of *fleet.Fleet) *namespaceNews {
	return &namespaceNews{fleet: of, news: map[memberNamespace]namespaceState{}, some: make(chan struct{}, 1)}
}

// keep keeps news of a namespace.
func (n *namespaceNews) keep(of memberNamespace, is namespaceState) {
	n.mu.Lock()
	defer n.mu.Unlock()
	is.changed = is.changed || n.news[of].changed
	n.news[of] = is
	select {
	case n.some <- struct{}{}:
	default:
	}
}

// take returns all news, once.
func (n *namespaceNews) take() map[memberNamespace]namespaceState {
	n.mu.Lock()
	defer n.mu.Unlock()
	news := n.news
	n.news = map[memberNamespace]namespaceState{}
	return news
}

// Start implements manager.Runnable. It takes news to the groups at once, and then after a pause, so that changes without end cost one round a second.
func (n *namespaceNews) Start(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-n.some:
		}
		n.round()
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(namespacePause):
		}
	}
}

// round takes all news to the groups.
func (n *namespaceNews) round() {
	for of, is := range n.take() {
		n.fleet.SetNamespace(of.member, of.namespace, is.confirmed)
		if is.changed {
			n.fleet.NamespaceChanged(of.member, of.namespace)
		}
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: each replica acts on groups.
func (*namespaceNews) NeedLeaderElection() bool { return false }

// confirmationChanged passes on a change of the annotation that confirms what a namespace's groups remove.
func confirmationChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetAnnotations()[v1alpha1.ConfirmDeletionAnnotation] != e.ObjectNew.GetAnnotations()[v1alpha1.ConfirmDeletionAnnotation]
	}}
}

// confirmsAll reports whether a namespace confirms all that its groups remove.
func confirmsAll(namespace client.Object) bool {
	return massdeletion.Confirms(namespace.GetAnnotations(), string(namespace.GetUID()))
}

// onNamespace reconciles a namespace's groups when its labels change, since grants select by them, and when somebody confirms what they remove. The groups
// of a namespace that is new are reconciled because they are new.
func (r *Reconciler) onNamespace(member multicluster.ClusterName, _ cluster.Cluster) mchandler.EventHandler {
	keep := func(o client.Object, confirmed, changed bool) {
		r.namespaces.keep(memberNamespace{string(member), o.GetName()}, namespaceState{confirmed, changed})
	}
	return handler.TypedFuncs[client.Object, mcreconcile.Request]{
		CreateFunc: func(_ context.Context, e event.CreateEvent, _ workqueue.TypedRateLimitingInterface[mcreconcile.Request]) {
			keep(e.Object, confirmsAll(e.Object), false)
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, _ workqueue.TypedRateLimitingInterface[mcreconcile.Request]) {
			keep(e.ObjectNew, confirmsAll(e.ObjectNew), true)
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, _ workqueue.TypedRateLimitingInterface[mcreconcile.Request]) {
			keep(e.Object, false, false)
		},
	}
}
