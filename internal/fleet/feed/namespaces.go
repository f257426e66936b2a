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

type memberNamespace struct{ member, namespace string }

// namespaces keeps changes of namespaces until the feed delivers them to the groups. An informer buffers events without limit
// for a slow handler, and the API server of a member can send thousands a second. So the handler only keeps the last state of
// each namespace, however many groups it has.
type namespaces struct {
	mu   sync.Mutex
	news map[memberNamespace]state
	// some wakes the feed.
	some chan struct{}
}

type state struct {
	// confirmed is true if all removals of its groups are confirmed.
	confirmed bool
	// changed is true if its groups must be reconciled.
	changed bool
}

func newNamespaces() *namespaces {
	return &namespaces{news: map[memberNamespace]state{}, some: make(chan struct{}, 1)}
}

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

func (n *namespaces) take() map[memberNamespace]state {
	n.mu.Lock()
	defer n.mu.Unlock()
	news := n.news
	n.news = map[memberNamespace]state{}
	return news
}

// NamespaceChanged selects changes of labels, which grants use in selectors, and of the annotation that confirms the removals
// of a namespace's groups.
func NamespaceChanged() predicate.Predicate {
	return predicate.Or[client.Object](predicate.LabelChangedPredicate{}, predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetAnnotations()[v1alpha1.ConfirmDeletionAnnotation] != e.ObjectNew.GetAnnotations()[v1alpha1.ConfirmDeletionAnnotation]
	}})
}

// confirmsAll reports whether a namespace confirms all removals of its groups.
func confirmsAll(namespace client.Object) bool {
	return massdeletion.Confirms(namespace.GetAnnotations(), string(namespace.GetUID()))
}

// Namespaces returns the handler of a member's namespaces. Groups of a changed namespace are reconciled. Groups of a new
// namespace are reconciled because they are new.
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
