package member

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
)

// Member is an engaged member at one moment. It is a snapshot: ask the Provider again in each reconcile.
type Member struct {
	// Name of the MemberCluster, which is also the multicluster name.
	Name string
	// ClusterUID is the UID of the member's namespace kube-system.
	ClusterUID string
	// Paused is spec.paused: observe, but act on nothing.
	Paused bool
	// UserDataSecrets says whether groups may hand Secrets to their VMs.
	UserDataSecrets v1alpha1.UserDataSecrets
	// MassDeletion is how many VMs of the member may leave at once. AllowedUntil is until when any number may, or zero.
	MassDeletion massdeletion.Limit
	AllowedUntil time.Time
	// AdoptionUntil is until when groups may adopt VMs for which there is no receipt, or zero.
	AdoptionUntil time.Time
	// ForgetAllowed is until when groups whose VCenter is deleted may be forgotten, or zero.
	ForgetAllowed time.Time
	// Predecessor is the installation whose groups here are taken over, or empty.
	Predecessor string
	// AcceptAdmitted is until when what status shows as admitted counts where the hub has no record; zero is never.
	AcceptAdmitted time.Time
	// Reachable is false while the member does not answer; what the caches hold may be old then.
	Reachable bool
	// Client reads VmGroups and Namespace metadata from the cache and everything else, Secrets included, from
	// the API server; it writes to the API server. It fails once the member is disengaged.
	Client client.Client
	// APIReader always reads from the API server.
	APIReader client.Reader
	// Definition asks the API server for the metadata of the VmGroup CRD: nil when there is none.
	Definition func(context.Context) (metav1.Object, error)
}

// Member returns the member of that name, and false unless it is engaged. False means "not known", never
// "has no groups".
func (p *Provider) Member(name string) (Member, bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	c := p.connections[name]
	if c == nil || c.engaged == nil {
		return Member{}, false
	}
	result := *c.engaged
	result.Paused = c.settings.paused
	result.UserDataSecrets = c.settings.userDataSecrets
	result.AcceptAdmitted = c.settings.acceptAdmitted
	result.MassDeletion, result.AllowedUntil = c.settings.massDeletion, c.settings.allowedUntil
	result.ForgetAllowed = c.settings.forgetAllowed
	result.AdoptionUntil = c.settings.adoptionUntil
	result.Predecessor = c.target.predecessor
	result.Reachable = c.seen.problem == nil
	return result, true
}

// Members returns the names of all engaged members, in no order.
func (p *Provider) Members() []string {
	p.mu.RLock()
	defer p.mu.RUnlock()
	names := make([]string, 0, len(p.connections))
	for name, c := range p.connections {
		if c.engaged != nil {
			names = append(names, name)
		}
	}
	return names
}

// NamespaceLabels returns the labels of a namespace from the member's cache. The map must not be changed.
// The error is a NotFound API error when the cache has no such namespace.
func (m Member) NamespaceLabels(ctx context.Context, namespace string) (map[string]string, error) {
	metadata := namespaceMetadata()
	if err := m.Client.Get(ctx, types.NamespacedName{Name: namespace}, metadata); err != nil {
		return nil, fmt.Errorf("namespace %q of member %q: %w", namespace, m.Name, err)
	}
	return metadata.Labels, nil
}
