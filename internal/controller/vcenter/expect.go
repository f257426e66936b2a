package vcenter

import (
	"context"
	"fmt"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// doubtPatience is how long an empty root folder is not reported while the groups of some member are not known. After a start the members
// are connected to within a moment; one that cannot be reached must not hide an accident.
const doubtPatience = 10 * time.Second

// explainEmpty tells a connection whose root folder is suddenly empty which VMs the groups count on. status.vms is a count of the past:
// an operator that is started again while the last VMs are destroyed finds none of them, and that is right. doubtful is true while that is
// not known and may be known soon.
func (r *Reconciler) explainEmpty(ctx context.Context, name string, current Connection) (doubtful bool, err error) {
	if !current.Health().SuddenlyEmpty {
		r.forgetDoubt(name)
		return false, nil
	}
	var list v1alpha1.MemberClusterList
	if err := r.Client.List(ctx, &list); err != nil {
		return false, fmt.Errorf("read MemberClusters: %w", err)
	}
	members := make([]string, len(list.Items))
	for i := range list.Items {
		members[i] = list.Items[i].Name
	}
	expected, known := r.Groups.Expected(name, members)
	if known {
		current.ExpectVMs(expected)
		return false, nil
	}
	return r.inDoubt(name), nil
}

// inDoubt notes a doubt about a VCenter, and reports whether it is young enough to wait for an end of it.
func (r *Reconciler) inDoubt(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	since, known := r.doubts[name]
	if !known {
		since = r.Now()
		if r.doubts == nil {
			r.doubts = map[string]time.Time{}
		}
		r.doubts[name] = since
	}
	return r.Now().Sub(since) < doubtPatience
}

func (r *Reconciler) forgetDoubt(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.doubts, name)
}
