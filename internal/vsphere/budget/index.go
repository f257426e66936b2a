package budget

import "cmp"

// member is what the budget knows of one member cluster. It is the tenant: members share first, and then the groups of each.
type member struct {
	name string
	// held is the number of slots that its groups have.
	held int
	// since orders members that wait; it is renewed with every slot that one of the groups gets, so that equals take turns.
	since uint64
	// groups is the number of groups that are known, waiting that of those which want anything.
	groups, waiting int
	// queues are those that are not empty.
	queues map[lane]*queue
}

func (m *member) tenant() tenant { return tenant{name: m.name, held: m.held, since: m.since} }

// lane is what groups wait for: a slot on a host, or one for no clone if host is empty, as the first one that they hold or as
// another. In one lane all have the same right to the headroom, but for what their members hold.
type lane struct {
	host  string
	first bool
}

// index has the groups that could use a slot, so that a decision need not look at all that wait.
type index map[lane]*line

// line are the members with groups in one lane, the neediest first.
type line struct {
	queues ordered[*queue]
	// held counts the members by the slots that they hold. There are few different numbers, since their sum is bounded.
	held map[int]int
}

// queue are the groups of one member in one lane, the neediest first.
type queue struct {
	member *member
	groups ordered[*place]
	at     int
}

// place is that of a group in one queue.
type place struct {
	group *group
	lane  lane
	at    int
}

func (q *queue) moved(to int) { q.at = to }
func (p *place) moved(to int) { p.at = to }

func (q *queue) before(o *queue) bool { return q.member.tenant().compare(o.member.tenant()) < 0 }

func (p *place) before(o *place) bool {
	a, b := p.group, o.group
	return cmp.Or(cmp.Compare(a.held, b.held), cmp.Compare(a.since, b.since), cmp.Compare(a.name, b.name)) < 0
}

// remove takes out a group, and its member, which stays out until the group is added again.
func (x index) remove(g *group) {
	m := g.member
	for in, q := range m.queues {
		l := x[in]
		l.queues.remove(q.at)
		if l.held[m.held]--; l.held[m.held] == 0 {
			delete(l.held, m.held)
		}
		if len(l.queues) == 0 {
			delete(x, in)
		}
	}
	for _, p := range g.places {
		q := m.queues[p.lane]
		q.groups.remove(p.at)
		if len(q.groups) == 0 {
			delete(m.queues, p.lane)
		}
	}
	g.places = g.places[:0]
}

// add puts in a group that was removed, as it is now, and its member.
func (x index) add(g *group) {
	m := g.member
	for host, d := range g.demands {
		if d.lapsed || g.full() {
			continue
		}
		p := &place{group: g, lane: lane{host, g.held == 0}}
		q, ok := m.queues[p.lane]
		if !ok {
			q = &queue{member: m}
			m.queues[p.lane] = q
		}
		q.groups.add(p)
		g.places = append(g.places, p)
	}
	for in, q := range m.queues {
		l, ok := x[in]
		if !ok {
			l = &line{held: make(map[int]int)}
			x[in] = l
		}
		l.queues.add(q)
		l.held[m.held]++
	}
}

// richest is the most slots that a member of the line holds.
func (l *line) richest() int {
	most := 0
	for held := range l.held {
		most = max(most, held)
	}
	return most
}

// fill says who waits, as far as it matters to allocate, and which members are owed some of the headroom.
//
// It takes the first members of each lane, and the first groups of each, as many as there are free slots. Whoever comes after them
// gets nothing: each of those before gets a slot, or finds its host full, and then the host is full for all that come later.
func (x index) fill(s *snapshot) {
	free := s.free()
	s.owedOnHost = make(map[string]int)
	for in, l := range x {
		room, keep := s.room(in.host)
		if room == 0 || in.host != "" && !in.first {
			continue
		}
		s.owed = max(s.owed, l.richest()-s.keep)
		if in.host != "" {
			s.owedOnHost[in.host] = l.richest() - keep
		}
	}
	seen := make(map[*group]struct{})
	for in, l := range x {
		if !s.open(in, l.queues[0].member.held) {
			continue
		}
		for q := range l.queues.first(free) {
			for p := range q.groups.first(free) {
				if _, ok := seen[p.group]; !ok {
					seen[p.group] = struct{}{}
					s.waiters = append(s.waiters, p.group.waiter())
				}
			}
		}
	}
}
