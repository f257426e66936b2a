package budget

import (
	"cmp"
	"slices"
)

// member is the budget's state of one member cluster. Slots are shared between members first, and then between the groups of each.
type member struct {
	name string
	// held is the number of slots of its groups.
	held int
	// since orders waiting members. It is renewed with every slot that one of the groups gets, so that equals take turns.
	since uint64
	// groups is the number of known groups, and waiting the number of those with a demand.
	groups, waiting int
	// queues are the non-empty queues.
	queues map[lane]*queue
}

func (m *member) tenant() tenant { return tenant{name: m.name, held: m.held, since: m.since} }

// lane is what groups wait for: a slot on a host, or one for no clone if host is empty, as their first slot or as another. All groups
// in a lane have the same right to the headroom, except for the slots that their members hold.
type lane struct {
	host  string
	first bool
}

// index contains the groups that could use a slot, so that a decision need not read all waiting groups. For each lane it has the
// members with groups there, the neediest first.
type index map[lane]*ordered[*queue]

// queue contains the groups of one member in one lane, the neediest first.
type queue struct {
	member *member
	groups ordered[*place]
	at     int
}

// place is the place of a group in one queue.
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

// remove removes a group, and its member until the group is added again.
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

// add adds a removed group in its current state, and its member.
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

// fill adds the waiters that matter to allocate.
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

// chance is the maximum number of groups of a queue that can get a slot.
type chance struct {
	queue  *queue
	groups int
	// has is the number of slots that the member would then have.
	has int
}

func (c *chance) before(o *chance) bool {
	a, b := c.queue.member.tenant(), o.queue.member.tenant()
	a.held, b.held = c.has, o.has
	return a.compare(b) < 0
}

func (*chance) moved(int) {}

// chances deals free slots in one lane like allocate in all lanes: one to each group. No other group of the lane gets one. Each
// earlier group gets a slot, in this lane or another, or finds the host full. A host that is full for one group is also full for all
// later ones.
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
