package budget

import (
	"cmp"
	"slices"
)

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

// index has the groups that could use a slot, so that a decision need not look at all that wait: for each lane the members with groups
// there, the neediest first.
type index map[lane]*ordered[*queue]

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
	return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.since, b.since), cmp.Compare(a.name, b.name)) < 0
}

// remove takes out a group, and its member, which stays out until the group is added again.
func (x index) remove(g *group) {
	m := g.member
	for in, q := range m.queues {
		members := x[in]
		members.remove(q.at)
		if len(*members) == 0 {
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
		p := &place{group: g, lane: lane{host, g.rank() == 0}}
		q, ok := m.queues[p.lane]
		if !ok {
			q = &queue{member: m}
			m.queues[p.lane] = q
		}
		q.groups.add(p)
		g.places = append(g.places, p)
	}
	for in, q := range m.queues {
		members, ok := x[in]
		if !ok {
			members = &ordered[*queue]{}
			x[in] = members
		}
		members.add(q)
	}
}

// fill says who waits, as far as it matters to allocate.
func (x index) fill(s *snapshot) {
	seen := make(map[*group]struct{})
	for in, members := range x {
		if !s.open(in, (*members)[0].member.held) {
			continue
		}
		for _, c := range chances(*members, s.free()) {
			for p := range c.queue.groups.first(c.groups) {
				if _, ok := seen[p.group]; !ok {
					seen[p.group] = struct{}{}
					s.waiters = append(s.waiters, p.group.waiter())
				}
			}
		}
	}
}

// chance is how many groups of a queue may get a slot at the most.
type chance struct {
	queue  *queue
	groups int
	// has is what the member would have then.
	has int
}

func (c *chance) before(o *chance) bool {
	a, b := c.queue.member.tenant(), o.queue.member.tenant()
	a.held, b.held = c.has, o.has
	return a.compare(b) < 0
}

func (*chance) moved(int) {}

// chances deals free slots in one lane, as allocate does in all: one to each group. Nobody else of the lane gets one, since each
// of those who come before gets a slot, in this lane or another, or finds the host full; and then it is full for all who come later.
func chances(lane ordered[*queue], free int) []*chance {
	var members ordered[*chance]
	for q := range lane.first(free) {
		members.add(&chance{queue: q, has: q.member.held})
	}
	all := slices.Clone(members)
	for ; free > 0 && len(members) > 0; free-- {
		c := members[0]
		c.groups++
		c.has++
		if c.groups < len(c.queue.groups) {
			members.fix(0)
		} else {
			members.remove(0)
		}
	}
	return all
}
