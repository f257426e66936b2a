package member

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
)

// served is the cluster that a connection serves.
type served struct {
	uid  string
	apis remote.APIs
}

// shareLocked tells the fleet what is known of the member now. The caller holds the Provider's lock, so that what is
// told last is newest. An incarnation that another one has replaced tells nothing.
func (c *connection) shareLocked() {
	if c.provider.connections[c.target.Name] != c {
		return
	}
	m := fleet.Member{Name: c.target.Name, Silent: c.seen.problem != nil, Settings: c.settings}
	if c.cluster != nil {
		m.UID, m.State = c.served.uid, fleet.Engaging
		if c.seen.phase == phaseEngaged {
			m.State = fleet.Engaged
		}
	}
	c.provider.opts.Fleet.SetMember(m)
}

// Definition asks the API server of an engaged member for the metadata of the VmGroup CRD: nil when there is none.
func (p *Provider) Definition(ctx context.Context, member string) (metav1.Object, error) {
	p.mu.RLock()
	c := p.connections[member]
	if c == nil || c.cluster == nil {
		p.mu.RUnlock()
		return nil, fmt.Errorf("member %q is not engaged: %w", member, multicluster.ErrClusterNotFound)
	}
	apis := c.served.apis
	p.mu.RUnlock()
	return c.joiner.Definition(ctx, apis)
}
