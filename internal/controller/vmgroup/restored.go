package vmgroup

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/memberapi"
)

// catchesUp is the maximum delay of a cache behind the operator's own write before the API server is read. A watch delivers a write in
// milliseconds.
const catchesUp = 10 * time.Second

// forgetVersions drops the written versions of a group after a restore of the member's storage.
func (r *Reconciler) forgetVersions(of object) {
	r.memory.forgetVersion(of)
	r.vanished.unclaim(of.key)
}

// behind reports whether the cache has an older object than the operator's own last write. A group that stays behind can come
// from a backup that was restored with a revision bump: the revision of the storage rises, and its objects keep their versions.
// So behind reads the API server, at most once in catchesUp. If the API server has the cached object, the write was lost.
func (r *Reconciler) behind(ctx context.Context, p pass, group *v1alpha1.VmGroup) bool {
	of, live := objectOf(p.Member.UID, group), p.Live
	now := r.Now()
	since := r.memory.stale(of, group.ResourceVersion, p.Member.Restores, now)
	if since.IsZero() {
		return false
	}
	if now.Sub(since) < catchesUp {
		return true
	}
	stored := &v1alpha1.VmGroup{}
	ctx, cancel := context.WithTimeout(ctx, memberapi.Timeout)
	defer cancel()
	err := live.Get(ctx, client.ObjectKeyFromObject(group), stored)
	if err != nil || stored.UID != group.UID || stored.ResourceVersion != group.ResourceVersion {
		r.memory.change(of, func(m *remembered) { m.behind = now })
		return true
	}
	log.FromContext(ctx).Info("The API server has an older version of the group than the operator has written; the member was restored from a backup",
		"resourceVersion", group.ResourceVersion, "written", r.memory.of(of).resourceVersion)
	r.forgetVersions(of)
	return false
}
