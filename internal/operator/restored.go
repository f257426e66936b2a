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
	// hubLook is the interval between reads of the hub's storage revision, and hubLookAgain the interval after a failed read: to restore its
	// storage, an API server must be stopped, and it can return soon.
	hubLook, hubLookAgain = time.Minute, 2 * time.Second
	// hubLookTime limits one read.
	hubLookTime = 10 * time.Second
)

// errHubRestored ends the process: its data of the hub is possibly of another time, and its watches receive no new events. Kubernetes
// restarts the process, with caches of the present data. The error ends all replicas, because all have read the same. No replica ends twice,
// because the recorded revision ends with the process.
var errHubRestored = errors.New("the hub's etcd came back from a backup, with a lower revision than before; the operator ends, to be started again " +
	"with what the hub has now. No action is needed for that; docs/runbooks/restore.md has the other checks after a restore")

// hubStorage is a manager.Runnable that detects a restore of the hub's storage from a backup.
type hubStorage struct {
	// revision returns the present revision of the hub's storage.
	revision func(context.Context) (string, error)
}

// NeedLeaderElection makes a manager run it on every replica: each has its own caches.
func (h *hubStorage) NeedLeaderElection() bool { return false }

// Start checks until ctx ends, or until the storage has gone back. It reads a lower revision twice, so that a single response does not end
// the process.
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

// revisionOf reads from the hub's API server, not from a cache. The list sets no resourceVersion, so the response has the newest one.
func revisionOf(hub client.Reader) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		list := &v1alpha1.MemberClusterList{}
		if err := hub.List(ctx, list, client.Limit(1)); err != nil {
			return "", fmt.Errorf("list MemberClusters: %w", err)
		}
		return list.ResourceVersion, nil
	}
}
