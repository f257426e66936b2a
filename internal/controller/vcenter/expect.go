package vcenter

import (
	"context"
	"fmt"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// doubtPatience is how long an empty root folder is not reported while the groups of some member are unknown. After a start, members
// connect quickly. An unreachable member must not hide an accident.
const doubtPatience = 10 * time.Second

// explainEmpty passes the VMs that the groups expect to a connection whose root folder is suddenly empty. status.vms is an old count: if
// the operator restarts during the destruction of the last VMs, it correctly finds none of them. doubtful is true while the expected VMs
// are unknown but can soon be known.
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

// inDoubt notes a doubt about a VCenter, and reports whether the doubt is recent enough to wait.
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
