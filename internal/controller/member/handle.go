package member

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
