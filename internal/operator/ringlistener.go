package operator

import (
	"github.com/codeconnect/vmgroup-operator/internal/admission/trust"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/link"
	policycontroller "github.com/codeconnect/vmgroup-operator/internal/controller/policy"
	"github.com/codeconnect/vmgroup-operator/internal/controller/vcenter"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/death"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/share"
)

// ringListener passes on what changes among the replicas to the parts of this one. It implements sharding.Listener.
type ringListener struct {
	known    *fleet.Fleet
	members  *link.Provider
	vcenters *vcenter.Reconciler
	policies *policycontroller.Reconciler
	shared   *share.Coordinator
	deaths   *death.Watcher
	pool     *vcenter.Pool
	// certificates are nil without webhooks.
	certificates *trust.Rotator
}

func (l *ringListener) Lost(buckets []int) { l.known.Lost(buckets) }

func (l *ringListener) Gained(buckets []int) { l.known.Gained(buckets) }

func (l *ringListener) LeadershipChanged() {
	l.members.LeadershipChanged()
	l.vcenters.LeadershipChanged()
	l.policies.LeadershipChanged()
	if l.certificates != nil {
		l.certificates.Changed()
	}
}

func (l *ringListener) PeersChanged() {
	l.shared.Changed()
	l.deaths.Changed()
	if l.certificates != nil {
		l.certificates.Changed()
	}
}

func (l *ringListener) SessionsEnded() { l.pool.EndLeftovers() }
