package link

import (
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/admission"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/settings"
)

// AdmissionChanged tells the Provider that its Renderer answers differently now. It does not block: the admission objects of all
// members are looked at soon.
func (p *Provider) AdmissionChanged() {
	p.mu.RLock()
	for _, c := range p.connections {
		c.keeper.Wake()
	}
	p.mu.RUnlock()
	// Members that cannot be reached are behind now, and their status says so.
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

// Commission implements admission.Member. It returns whether this connection may write to its member now, and the term in which it may: a later term
// means that another replica may have written in between.
func (c *connection) Commission() (term int, mayWrite bool) {
	c.provider.mu.RLock()
	term = c.term
	c.provider.mu.RUnlock()
	return term, c.Leading()
}

// Leading implements sharding.Leader for writes to the member. It reports whether this connection can write to it now: this replica leads, and
// has seen to the MemberCluster's finalizer. A claim without a finalizer would be left behind.
func (c *connection) Leading() bool {
	c.provider.mu.RLock()
	commissioned := c.seen.Commissioned
	c.provider.mu.RUnlock()
	return commissioned && c.provider.Leading()
}
