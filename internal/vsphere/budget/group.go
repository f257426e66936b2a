package budget

// group is what the budget knows of one group.
type group struct {
	name   string
	member *member
	// held is the number of slots, reserved or running.
	held int
	// since orders the groups of a member that wait; it is renewed with the slots that the group gets, so that equals take turns.
	since uint64
	// begun is true after clones with which since was not renewed. The next task is of the same turn: a VM that was cloned would
	// otherwise be powered on only when all groups that wait have had theirs cloned.
	begun bool
	// demands are the slots that are wanted and not granted, by host.
	demands map[string]*demand
	// grants have reserved slots left, by host, the oldest first.
	grants map[string][]*Grant
	slow   slowStart
	// behind is true for a group that lacks nothing; see AcquireBehind.
	behind bool
	// places are those in the index.
	places []*place
	// forgotten is true from Forget to the next Acquire: tasks that still run are counted, and nothing else.
	forgotten bool
}

// demand is what a group wants on one host and has not got.
type demand struct {
	want  int
	since uint64
	// lapsed is true when slots were kept for it and not claimed in time.
	lapsed bool
}

// idle reports whether nothing is known of the group that matters later.
func (g *group) idle() bool {
	return g.held == 0 && len(g.demands) == 0 && g.slow.window == 0 && !g.begun
}

// reserved is the number of slots that were granted for host and neither started nor given back.
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

// close forgets a grant that has nothing left.
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

// rank orders the groups of a member: the number of slots that it holds, and one more for a group that is behind.
func (g *group) rank() int {
	if g.behind {
		return g.held + 1
	}
	return g.held
}

// full reports whether the slow start of the group allows nothing more.
func (g *group) full() bool { return g.slow.window > 0 && g.held >= g.slow.window }

// waiter returns what an allocation needs to know.
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
