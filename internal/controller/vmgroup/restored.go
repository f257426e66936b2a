package vmgroup

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/memberapi"
)

// catchesUp is how long a cache may be behind the operator's own write before the API server is asked. A watch tells of a write in
// milliseconds.
const catchesUp = 10 * time.Second

// forgetVersions forgets which versions of a group were written: the storage that they were written to is another one now.
func (r *Reconciler) forgetVersions(of object) {
	r.memory.forgetVersion(of)
	r.vanished.unclaim(of.key)
}

// behind reports whether the cache has an older object than the operator's own last write. A group that stays behind may have come from a
// backup: with a revision bump nothing else shows that, since the revision of the storage rises while its objects keep the versions that they had.
// So the API server is asked, at most once in catchesUp. If it has what the cache has, the write is gone.
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
