package admitted

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// watch updates the pages from the hub until ctx ends.
func (r *Records) watch(ctx context.Context) {
	component.Watch(ctx, r.opts.Client, watcher{r})
}

// watcher processes the events of a watch of the pages.
type watcher struct{ r *Records }

func (w watcher) Seen(object *corev1.ConfigMap) {
	if page := pageOf(object); page != nil {
		w.r.tell(page.member, w.r.take(page))
	}
}

func (w watcher) Gone(object *corev1.ConfigMap) {
	w.r.tell(w.r.remove(object.Name, object.ResourceVersion))
}

func (w watcher) Synced() {
	w.r.mu.Lock()
	defer w.r.mu.Unlock()
	w.r.synced = true
}

func (r *Records) tell(member string, names []string) {
	for _, name := range names {
		r.opts.Groups.RecordChanged(Key{member, types.UID(name)}) // a hashed name matches no group, and a later pass detects the change
	}
}
