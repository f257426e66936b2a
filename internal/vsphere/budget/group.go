package budget

// group is the budget's state of one group.
type group struct {
	name   string
	member *member
	// held is the number of reserved or running slots.
	held int
	// since orders the waiting groups of a member. It is renewed with the slots that the group gets, so that equals take turns.
	since uint64
	// begun is true after clones that did not renew since. The next task belongs to the same turn. Otherwise a cloned VM would be
	// powered on only after the clones of all waiting groups.
	begun bool
	// demands are the wanted slots that were not granted, by host.
	demands map[string]*demand
	// grants have reserved slots left. They are stored by host, the oldest first.
	grants map[string][]*Grant
	slow   slowStart
	// behind is true for a group that lacks no VM: see AcquireBehind.
	behind bool
	// places are the group's places in the index.
	places []*place
	// forgotten is true from Forget to the next Acquire: only running tasks are counted then.
	forgotten bool
}

// demand is a group's unmet demand on one host.
type demand struct {
	want  int
	since uint64
	// lapsed is true if slots were kept for the demand and not claimed in time.
	lapsed bool
}

// idle reports whether the group has no state that matters later.
func (g *group) idle() bool {
	return g.held == 0 && len(g.demands) == 0 && g.slow.window == 0 && !g.begun
}

// reserved returns the number of slots that were granted for host and neither started nor released.
func (g *group) reserved(host string) int {
	n := 0
	for _, grant := range g.grants[host] {
		n += grant.left
	}
	return n
}

// take uses a slot of the oldest grant for host that has one left, and reports whether there was one.
func (g *group) take(host string) bool {
	open := g.grants[host]
	if len(open) == 0 {
		return false
	}
	open[0].left--
	if open[0].left == 0 {
		g.close(open[0])
	}
	return true
}

// close forgets a used-up grant.
func (g *group) close(grant *Grant) {
	open := g.grants[grant.host]
	for i := range open {
		if open[i] == grant {
			open = append(open[:i:i], open[i+1:]...)
			break
		}
	}
	if len(open) == 0 {
		delete(g.grants, grant.host)
		return
	}
	g.grants[grant.host] = open
}

// rank orders the groups of a member: the number of held slots, plus one for a group that is behind.
func (g *group) rank() int {
	if g.behind {
		return g.held + 1
	}
	return g.held
}

// full reports whether the group's slow start permits no more slots.
func (g *group) full() bool { return g.slow.window > 0 && g.held >= g.slow.window }

// waiter returns the group as input of an allocation.
func (g *group) waiter() waiter {
	w := waiter{member: g.member.tenant(), group: g.name, held: g.rank(), window: g.slow.window, since: g.since}
	if g.behind && w.window > 0 {
		w.window++
	}
	for host, d := range g.demands {
		if !d.lapsed {
			w.wants = append(w.wants, want{host: host, count: d.want, since: d.since})
		}
	}
	return w
}
