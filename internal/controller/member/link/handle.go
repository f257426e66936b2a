package link

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
)

// served is the cluster that a connection serves.
type served struct {
	uid     string
	apis    remote.APIs
	cluster cluster.Cluster
}

// shareLocked reports the state of the member to the fleet. The caller holds the Provider's lock, so that the last
// report is the newest. A replaced incarnation reports nothing.
func (c *connection) shareLocked() {
	if c.provider.connections[c.target.Name] != c {
		return
	}
	m := fleet.Member{Name: c.target.Name, Silent: c.seen.Problem != nil, Settings: c.settings}
	if s := c.seen.State; s.Serves() {
		m.UID, m.State = c.served.uid, fleet.Engaged
	} else if s.hasCaches() {
		m.UID, m.State = c.served.uid, fleet.Engaging
	}
	c.provider.opts.Fleet.SetMember(m)
}

// engaged returns the connection of an engaged member, and its cluster.
func (p *Provider) engaged(member string) (*connection, served, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if c := p.connections[member]; c != nil && c.seen.State.hasCaches() {
		return c, c.served, nil
	}
	return nil, served{}, fmt.Errorf("member %q is not engaged: %w", member, multicluster.ErrClusterNotFound)
}

// Definition reads the metadata of the VmGroup CRD from the API server of an engaged member, or nil if there is none.
func (p *Provider) Definition(ctx context.Context, member string) (metav1.Object, error) {
	c, is, err := p.engaged(member)
	if err != nil {
		return nil, err
	}
	return c.joiner.Definition(ctx, is.apis)
}

// Warm reports whether a first attempt to connect has ended for every member in hub's list. Before that, this replica
// would be slow to act on groups that it takes over. A member without a usable kubeconfig never gets there, so the
// caller needs a timeout.
func (p *Provider) Warm(ctx context.Context, hub client.Reader) (bool, error) {
	list := &v1alpha1.MemberClusterList{}
	if err := hub.List(ctx, list); err != nil {
		return false, fmt.Errorf("list MemberClusters: %w", err)
	}
	for i := range list.Items {
		if !list.Items[i].DeletionTimestamp.IsZero() {
			continue
		}
		if !p.Observe(list.Items[i].Name).tried {
			return false, nil
		}
	}
	return true, nil
}
