package feed

import (
	"context"
	"sync"

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
)

// memberNamespace is a namespace of a member.
type memberNamespace struct{ member, namespace string }

// namespaces keeps news of namespaces until the feed takes them to the groups. An informer keeps events without a bound for a
// handler that is slow, and the API server of a member can send thousands a second. So the handler only keeps the last
// news of each namespace, however many groups it has.
type namespaces struct {
	mu   sync.Mutex
	news map[memberNamespace]state
	// some wakes the feed.
	some chan struct{}
}

// state is the news of a namespace.
type state struct {
	// confirmed is true if everything that its groups remove is confirmed.
	confirmed bool
	// changed is true if its groups must be reconciled.
	changed bool
}

func newNamespaces() *namespaces {
	return &namespaces{news: map[memberNamespace]state{}, some: make(chan struct{}, 1)}
}

// keep keeps news of a namespace.
func (n *namespaces) keep(of memberNamespace, is state) {
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
func (n *namespaces) take() map[memberNamespace]state {
	n.mu.Lock()
	defer n.mu.Unlock()
	news := n.news
	n.news = map[memberNamespace]state{}
	return news
}

// NamespaceChanged selects changes of labels, by which grants select, and of the annotation that confirms what the groups
// of a namespace remove.
func NamespaceChanged() predicate.Predicate {
	return predicate.Or[client.Object](predicate.LabelChangedPredicate{}, predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetAnnotations()[v1alpha1.ConfirmDeletionAnnotation] != e.ObjectNew.GetAnnotations()[v1alpha1.ConfirmDeletionAnnotation]
	}})
}

// confirmsAll reports whether a namespace confirms everything that its groups remove.
func confirmsAll(namespace client.Object) bool {
	return massdeletion.Confirms(namespace.GetAnnotations(), string(namespace.GetUID()))
}

// Namespaces returns the handler of a member's namespaces. Groups of a namespace that changes are reconciled. Those of a
// new namespace are reconciled because they are new.
func (f *Feed) Namespaces(member multicluster.ClusterName, _ cluster.Cluster) mchandler.EventHandler {
	keep := func(o client.Object, confirmed, changed bool) {
		f.namespaces.keep(memberNamespace{string(member), o.GetName()}, state{confirmed, changed})
	}
	return handler.TypedFuncs[client.Object, mcreconcile.Request]{
		CreateFunc: func(_ context.Context, e event.CreateEvent, _ queue) { keep(e.Object, confirmsAll(e.Object), false) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, _ queue) {
			keep(e.ObjectNew, confirmsAll(e.ObjectNew), true)
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, _ queue) { keep(e.Object, false, false) },
	}
}
