package member

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// Warm reports whether a first attempt to connect has ended for every member that hub lists. Before that, this replica
// would be slow to act on groups that it takes over. A member without a usable kubeconfig never gets there: the caller
// bounds its patience.
func (p *Provider) Warm(ctx context.Context, hub client.Reader) (bool, error) {
	list := &v1alpha1.MemberClusterList{}
	if err := hub.List(ctx, list); err != nil {
		return false, fmt.Errorf("list MemberClusters: %w", err)
	}
	for i := range list.Items {
		if !list.Items[i].DeletionTimestamp.IsZero() {
			continue
		}
		if seen, ok := p.observe(list.Items[i].Name); !ok || seen.phase == phaseConnecting && !seen.awaited {
			return false, nil
		}
	}
	return true, nil
}
