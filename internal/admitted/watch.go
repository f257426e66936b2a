package admitted

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/internal/configmaps"
)

// watch keeps the pages in step with the hub until ctx ends.
func (r *Records) watch(ctx context.Context) {
	configmaps.Watch(ctx, r.opts.Client, component, configmaps.Watcher{
		Seen: func(object *corev1.ConfigMap) {
			if page := pageOf(object); page != nil {
				r.tell(page.member, r.take(page))
			}
		},
		Gone: func(object *corev1.ConfigMap) { r.tell(r.remove(object.Name, object.ResourceVersion)) },
		Synced: func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.synced = true
		},
	})
}

func (r *Records) tell(member string, names []string) {
	for _, name := range names {
		r.opts.Notify(Key{member, types.UID(name)}) // of one with an odd UID nobody knows that name, and a later pass sees the change
	}
}
