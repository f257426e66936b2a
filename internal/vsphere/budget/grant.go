package budget

// Grant is a number of slots that are reserved for one group and host. Start uses them.
type Grant struct {
	budget      *Budget
	group, host string
	// granted never changes after Acquire; left is what was neither started nor given back, under the budget's lock.
	granted, left int
}

// Granted is the number of slots that were reserved, whatever became of them since.
func (g *Grant) Granted() int { return g.granted }

// Release gives back what was reserved and not started. Calling it again does nothing.
func (g *Grant) Release() {
	b := g.budget
	var wake []string
	b.mu.Lock()
	if g.left > 0 {
		b.giveBack(g)
		wake = b.offer(b.decide())
	}
	b.unlock(wake)
}

func (b *Budget) giveBack(grant *Grant) {
	g := b.groups[grant.group]
	b.update(g, func() { b.hold(g, grant.host, -grant.left) })
	grant.left = 0
	g.close(grant)
	b.tidy(g)
}
