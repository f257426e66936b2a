package admitted

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/internal/configmaps"
)

const (
	// collectInterval is how often the leader searches for records of deleted groups. A record is removed if its member has not had the group for
	// absentFor, or was not a member for departedFor. Both are long, because a group without a record is held while policy refuses it.
	collectInterval, absentFor, departedFor = time.Minute, 10 * time.Minute, time.Hour
)

// Collect removes, on the leader, the records of groups that no longer exist: those whose finalizer was removed by hand, and those of members that
// have left. It does not wait for the writes.
func (r *Records) Collect(ctx context.Context) {
	if !r.opts.Leader.Leading() {
		return
	}
	r.mu.Lock()
	var keys []Key
	var empty []*page
	for member, s := range r.members {
		for _, p := range s.pages {
			if p.size == 0 && p.err == nil {
				empty = append(empty, p)
			}
		}
		for name := range s.homes {
			keys = append(keys, Key{member, types.UID(name)})
		}
	}
	r.mu.Unlock()
	now, missing := r.opts.Now(), map[Key]time.Time{}
	for _, key := range keys {
		patience := absentFor
		switch r.opts.Groups.Exists(ctx, key) {
		case Departed:
			patience = departedFor
		case Absent:
		case Unknown, Exists:
			continue
		}
		since, ok := r.missing[key]
		if !ok {
			since = now
		}
		if missing[key] = since; now.Sub(since) >= patience {
			r.enqueue(key.Member, newWrite(string(key.Group), nil))
		}
	}
	r.missing = missing
	for _, p := range empty {
		r.removePage(ctx, p)
	}
}

// removePage deletes a ConfigMap without a record, unless it was changed meanwhile.
func (r *Records) removePage(ctx context.Context, p *page) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if err := configmaps.Delete(ctx, r.opts.Client, p.name, metav1.Preconditions{ResourceVersion: &p.version}); err != nil && !errors.Is(err, configmaps.ErrConflict) {
		log.FromContext(ctx).Error(err, "An empty ConfigMap could not be removed; it is tried again", "configMap", p.name)
	}
}
