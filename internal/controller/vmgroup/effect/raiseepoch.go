package effect

import (
	"context"
	"fmt"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/sharding"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/protocol"
)

// Shards raise the epochs that this installation gives. *sharding.Replica implements it.
type Shards interface {
	Raise(sharding.Epoch)
}

// raiseEpoch raises the generation above the highest epoch that a group of the member shows and that is plausible. Otherwise
// the other groups would ask one after the other, and each of them would cost all members a raise.
type raiseEpoch struct {
	shards Shards
	// mu is held while a pass searches the groups of a member for the highest epoch.
	mu sync.Mutex
}

// Do implements Effect.
func (r *raiseEpoch) Do(ctx context.Context, p *Pass, s *group.Snapshot, _ group.Decision) (Outcome, error) {
	shown := s.Group.Status.Ownership.Epoch
	above := shown.Generation
	if above > s.Raised.Above {
		// One pass at a time reads all groups, and none copies them: a member can have as many groups as the cache holds, each
		// with a higher epoch.
		r.mu.Lock()
		defer r.mu.Unlock()
		if p.Memory.Raised() != s.Raised {
			return Outcome{Ends: true}, nil // another pass has raised it; the next pass decides with the result
		}
		var groups v1alpha1.VmGroupList
		if err := p.Cache.List(ctx, &groups, client.UnsafeDisableDeepCopy); err != nil {
			return Outcome{}, fmt.Errorf("list VmGroups in the cache: %w", err)
		}
		for i := range groups.Items {
			if o := groups.Items[i].Status.Ownership; o != nil && o.Epoch.Generation-s.Epoch.Generation <= protocol.MaxRaise {
				above = max(above, o.Epoch.Generation)
			}
		}
		log.FromContext(ctx).Info("Status has a later epoch than the shard map; the operator raises the generation of the shard map", "epoch", shown, "above", above)
		p.Memory.Raise(group.Raise{Above: above, At: p.Now})
	}
	r.shards.Raise(sharding.Epoch{Generation: above})
	return Outcome{Ends: true}, nil
}
