package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

const (
	// hubLook is the pause between looks at the revision of the hub's storage, and hubLookAgain that after a look that failed: to
	// restore its storage an API server has to be stopped, and it may be back soon.
	hubLook, hubLookAgain = time.Minute, 2 * time.Second
	// hubLookTime bounds one look.
	hubLookTime = 10 * time.Second
)

// errHubRestored ends the process: whatever it has read of the hub may be of another time, and its watches hear of nothing new. Kubernetes
// starts it again, with caches of what the hub has now. It ends all replicas, for all of them have read the same. None of them ends
// twice, for what they have seen ends with them.
var errHubRestored = errors.New("the hub's etcd came back from a backup, with a lower revision than before; the operator ends, to be started again " +
	"with what the hub has now. Nothing has to be done for that; docs/runbooks/restore.md says what else to look at after a restore")

// hubStorage is a manager.Runnable that notices when the hub's storage goes back to a backup.
type hubStorage struct {
	// revision of the hub's storage at this moment.
	revision func(context.Context) (string, error)
}

// NeedLeaderElection makes a manager run it on every replica: each has caches of its own.
func (h *hubStorage) NeedLeaderElection() bool { return false }

// Start looks until ctx ends, or until the storage has gone back. A lower revision is read twice, so that no single answer ends the process.
func (h *hubStorage) Start(ctx context.Context) error {
	var mark untrusted.RevisionMark
	lower := 0
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		read, err := h.look(ctx)
		switch {
		case err != nil:
			log.FromContext(ctx).V(1).Info("The revision of the hub's storage could not be read", "error", err.Error())
			timer.Reset(hubLookAgain)
		case !mark.WentBack(read):
			mark.See(read)
			lower = 0
			timer.Reset(hubLook)
		case lower > 0:
			return fmt.Errorf("%w (revision %s after %s)", errHubRestored, read, mark.Seen())
		default:
			lower++
			timer.Reset(0)
		}
	}
}

func (h *hubStorage) look(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, hubLookTime)
	defer cancel()
	return h.revision(ctx)
}

// revisionOf asks the hub's API server, and no cache. The list asks for no resourceVersion, so that the answer is the newest there is.
func revisionOf(hub client.Reader) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		list := &v1alpha1.MemberClusterList{}
		if err := hub.List(ctx, list, client.Limit(1)); err != nil {
			return "", fmt.Errorf("list MemberClusters: %w", err)
		}
		return list.ResourceVersion, nil
	}
}
