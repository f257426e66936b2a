package member

func (p *Provider) leading() bool {
	return p.opts.Leader == nil || p.opts.Leader.Leading()
}

// LeadershipChanged tells the Provider that Options.Leader answers differently now. It does not block and may be
// called at any time. The MemberCluster controller then looks at every MemberCluster: a new leader writes what is due
// and bootstraps members, one that leads no more changes nothing.
func (p *Provider) LeadershipChanged() { p.everyMember.Ask() }

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
	commissioned := c.commissioned
	c.provider.mu.RUnlock()
	return commissioned && c.provider.leading()
}
