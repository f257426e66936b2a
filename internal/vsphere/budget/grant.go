package budget

// Grant is a number of slots reserved for one group and host. Start uses them.
type Grant struct {
	budget      *Budget
	group, host string
	// granted never changes after Acquire. left is the number of slots that were neither started nor released, under the
	// budget's lock.
	granted, left int
}

// Granted is the number of reserved slots, including those that were used or released since.
func (g *Grant) Granted() int { return g.granted }

// Release returns the reserved slots that were not started. Further calls have no effect.
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
