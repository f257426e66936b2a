package hub

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/protocol"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/ring"
)

// Snapshot is the content of the hub, for display.
type Snapshot struct {
	// Found is false if there is no shard map.
	Found    bool
	Ring     ring.Ring
	Sessions []Session
}

// Session is a session's Lease with the time of its last write, by the writer's clock.
type Session struct {
	protocol.Lease
	Renewed time.Time
}

// Snapshot reads the shard map and all sessions. It is not atomic.
func (c *Client) Snapshot(ctx context.Context) (Snapshot, error) {
	var s Snapshot
	switch result := c.Do(ctx, protocol.ReadRing{}); result.Outcome {
	case protocol.Done:
		s.Found, s.Ring = true, result.Ring.Ring
	case protocol.Missing:
	default:
		return s, fmt.Errorf("read the shard map: %w", result.Err)
	}
	var leases coordinationv1.LeaseList
	if err := c.leaseRequest("GET").Param("labelSelector", componentLabel+"="+sessionComponent).Do(ctx).Into(&leases); err != nil {
		return s, fmt.Errorf("list the sessions' Leases: %w", err)
	}
	for i := range leases.Items {
		if stored, ok := c.decodeLease(&leases.Items[i]); ok {
			session := Session{Lease: stored.Lease}
			if renewed := leases.Items[i].Spec.RenewTime; renewed != nil {
				session.Renewed = renewed.Time
			}
			s.Sessions = append(s.Sessions, session)
		}
	}
	return s, nil
}
