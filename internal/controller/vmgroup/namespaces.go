package vmgroup

import (
	"context"
	"maps"
	"slices"
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
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// namespacePause is the time between two rounds over namespaces of which there are news.
const namespacePause = time.Second

// memberNamespace is a namespace of a member.
type memberNamespace struct{ member, namespace string }

func namespaceOf(request mcreconcile.Request) memberNamespace {
	return memberNamespace{string(request.ClusterName), request.Namespace}
}

// namespaceNews keeps news of namespaces until they are taken to the groups. An informer keeps events without a bound for a handler that is slow, and who
// answers for a member can send thousands a second. So the handler only keeps the last news of each namespace, whatever many groups it has.
type namespaceNews struct {
	groups *Groups

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

func newNamespaceNews(groups *Groups) *namespaceNews {
	return &namespaceNews{groups: groups, news: map[memberNamespace]namespaceState{}, some: make(chan struct{}, 1)}
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
		n.groups.namespaceSeen(of, is.confirmed)
		if is.changed {
			n.groups.namespaceChanged(of)
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

// putIn records a group in its namespace, takeOut drops it. The lock is held.
func (g *Groups) putIn(of memberNamespace, key vsphere.GroupKey) {
	keys := g.within[of]
	if keys == nil {
		keys = map[vsphere.GroupKey]struct{}{}
		g.within[of] = keys
	}
	keys[key] = struct{}{}
}

func (g *Groups) takeOut(of memberNamespace, key vsphere.GroupKey) {
	delete(g.within[of], key)
	if len(g.within[of]) == 0 {
		delete(g.within, of)
	}
}

// namespaceSeen takes news of a namespace, and whether all that its groups remove is confirmed.
func (g *Groups) namespaceSeen(of memberNamespace, confirmed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.confirm(of, confirmed)
}

// confirm records whether all that the groups of a namespace remove is confirmed. The lock is held.
func (g *Groups) confirm(of memberNamespace, confirmed bool) {
	guard := g.guardOf(of.member)
	if _, was := guard.confirmed[of.namespace]; was == confirmed {
		return
	}
	if confirmed {
		guard.confirmed[of.namespace] = struct{}{}
	} else {
		delete(guard.confirmed, of.namespace)
	}
	for _, key := range slices.Collect(maps.Keys(g.within[of])) {
		g.put(key, g.byKey[key])
	}
}

// confirmOnly takes these for all namespaces of a member whose removals are confirmed. Nobody tells of those that were deleted while the member was away: they
// would be remembered for good, and a namespace that is made anew would be taken for confirmed.
func (g *Groups) confirmOnly(member string, namespaces map[string]struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for namespace := range maps.Clone(g.guardOf(member).confirmed) {
		if _, still := namespaces[namespace]; !still {
			g.confirm(memberNamespace{member, namespace}, false)
		}
	}
	for namespace := range namespaces {
		g.confirm(memberNamespace{member, namespace}, true)
	}
}

// namespaceChanged enqueues every group of a namespace.
func (g *Groups) namespaceChanged(of memberNamespace) {
	g.mu.Lock()
	requests := make([]mcreconcile.Request, 0, len(g.within[of]))
	for key := range g.within[of] {
		requests = append(requests, g.byKey[key].request)
	}
	enqueue := g.enqueue
	g.mu.Unlock()
	for _, request := range requests {
		enqueue(request, false)
	}
}
