package link

import (
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/admission"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/settings"
)

// AdmissionChanged notifies the Provider that the answers of its Renderer changed. It does not block: the admission objects of
// all members are checked soon.
func (p *Provider) AdmissionChanged() {
	p.mu.RLock()
	for _, c := range p.connections {
		c.keeper.Wake()
	}
	p.mu.RUnlock()
	// Unreachable members are outdated now, and their status reports it.
	p.everyMember.Ask()
}

// AdmissionSettings implements admission.Member.
func (c *connection) AdmissionSettings() settings.Admission {
	c.provider.mu.RLock()
	defer c.provider.mu.RUnlock()
	return c.admission
}

// PublishAdmission implements admission.Member.
func (c *connection) PublishAdmission(term int, result admission.Outcome) {
	c.provider.mu.Lock()
	current := c.term == term && !c.seen.State.ends()
	if current {
		c.seen.Admission = &result.Finding
		if result.Acknowledged != nil {
			c.seen.Acknowledged, c.seen.Segment = result.Acknowledged, result.Segment
		}
	}
	c.provider.mu.Unlock()
	if current {
		c.provider.notify(c.target.Name)
	}
}

// Commission implements admission.Member. It returns whether this connection can write to its member now, and the term in which it can. A later term
// means that another replica can have written in between.
func (c *connection) Commission() (term int, mayWrite bool) {
	c.provider.mu.RLock()
	term = c.term
	c.provider.mu.RUnlock()
	return term, c.Leading()
}

// Leading implements sharding.Leader for writes to the member. It reports whether this connection can write to it now: this replica leads, and
// has set the MemberCluster's finalizer. Without a finalizer, the claim would never be deleted.
func (c *connection) Leading() bool {
	c.provider.mu.RLock()
	commissioned := c.seen.Commissioned
	c.provider.mu.RUnlock()
	return commissioned && c.provider.Leading()
}
