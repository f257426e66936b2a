package budget

import (
	"cmp"
	"slices"
)

// snapshot is the complete input of an allocation.
type snapshot struct {
	limits Limits
	// held is the number of slots that all groups have reserved or running. heldOnHost counts the clones among them by template host.
	held       int
	heldOnHost map[string]int
	// keep and keepOnHost are the headroom: free slots, of all and of each host, that are only for the first clone of a group that holds nothing.
	keep, keepOnHost int
	// owed and owedOnHost (by host) are exceptions: any clone of a member that holds fewer slots than these can use the headroom.
	owed       int
	owedOnHost map[string]int
	// hosts contains the hosts whose limits differ from limits.TasksPerHost and keepOnHost.
	hosts map[string]hostLimit
	// waiters are the groups that want slots, each at most once, unordered.
	waiters []waiter
}

// hostLimit has, for one ESXi host, the number of clones that can run at the same time (slots), and how many of these slots are
// only for the first clone of a group that holds nothing (keep).
type hostLimit struct{ slots, keep int }

// tenant is a member at the start of the allocation.
type tenant struct {
	name string
	// held is the number of slots that its groups have reserved or running.
	held int
	// since orders the members: a lower number has waited longer.
	since uint64
}

// compare orders by need, the neediest first.
func (t tenant) compare(o tenant) int {
	return cmp.Or(cmp.Compare(t.held, o.held), cmp.Compare(t.since, o.since), cmp.Compare(t.name, o.name))
}

// waiter is a group that wants slots.
type waiter struct {
	// member is equal for all groups of one member.
	member tenant
	group  string
	// held is the number of slots that the group has reserved or running, plus one for a group that is behind.
	held int
	// window is the maximum number of slots of the group, counted like held. Zero means no such limit.
	window int
	// since orders the groups of one member: a lower number has waited longer.
	since uint64
	// wants contains each host at most once.
	wants []want
}

// want is a waiter's demand on one host.
type want struct {
	// host of the template. It is empty for tasks that are no clones, which no host limits.
	host  string
	count int
	// since orders the wants of one waiter, clones after all others. A lower number is served first.
	since uint64
}

// share is a number of free slots for a group. It is never zero.
type share struct {
	group, host string
	slots       int
}

// free is the number of available slots.
func (s *snapshot) free() int { return s.limits.Tasks - s.held }

// room returns the number of free slots of a host, or -1 for no limit, and how many of them are headroom.
func (s *snapshot) room(host string) (room, keep int) {
	if host == "" || s.limits.TasksPerHost <= 0 {
		return -1, 0
	}
	limit, ok := s.hosts[host]
	if !ok {
		limit = hostLimit{s.limits.TasksPerHost, s.keepOnHost}
	}
	return max(0, limit.slots-s.heldOnHost[host]), limit.keep
}

// open reports whether a lane has a slot for a member that holds this number of slots.
func (s *snapshot) open(in lane, held int) bool {
	if in.host == "" {
		return true
	}
	room, keep := s.room(in.host)
	switch {
	case room == 0:
		return false
	case in.first:
		return true
	}
	return (s.free() > s.keep || held < s.owed) && (room < 0 || room > keep || held < s.owedOnHost[in.host])
}

// allocate distributes the free slots. The result
//
//   - never exceeds a limit, a window or a want;
//   - leaves the headroom free. Exceptions: the first slot of groups that hold nothing, members that are owed some of it, and short tasks,
//     which are all tasks except clones;
//   - leaves no other usable slot free;
//   - is max-min fair between members: no member gets a slot while another that could use it has fewer;
//   - is max-min fair between the groups of a member: no other result gives a group more without giving less to one that has no more. A group
//     with tasks that are no clones can get more, by the size of the headroom;
//   - depends only on the content of the snapshot, not on its order.
//
// The result is sorted by need: the members with the fewest held slots first, then those that have waited longest, and likewise the groups of
// each.
//
// allocate gives each slot to the neediest group of the neediest member. If the host of that group is full, slots that were dealt before move
// to other hosts where their owners want slots too. This is an augmenting path, as in bipartite matching. Otherwise a group that wants either
// of two hosts could take the only host that a poorer group can use.
func allocate(s snapshot) []share {
	free := s.free()
	if free <= 0 || len(s.waiters) == 0 {
		return nil
	}
	d := dealing{snapshot: s, hosts: make(map[string]*host)}
	members, all := handsOf(s.waiters)
	for free > 0 && len(members) > 0 {
		m := members[0]
		if len(m.hands) == 0 {
			members.remove(0)
			continue
		}
		neediest := m.hands[0]
		if neediest.full() || !d.deal(neediest, free > s.keep || neediest.has == 0 || m.has < s.owed) {
			m.hands.remove(0) // for good: a full host or window does not become free during the allocation
			continue
		}
		free--
		neediest.has++
		m.hands.fix(0)
		m.has++
		members.fix(0)
	}
	return sharesOf(all)
}

// handsOf returns the members with their waiters, and all waiters.
func handsOf(waiters []waiter) (members ordered[*party], all []*hand) {
	byName := make(map[string]*party)
	for _, w := range waiters {
		m, ok := byName[w.member.name]
		if !ok {
			m = &party{tenant: w.member, has: w.member.held}
			byName[w.member.name] = m
			members.add(m)
		}
		h := newHand(w, m)
		m.hands.add(h)
		all = append(all, h)
	}
	return members, all
}

// sharesOf returns the dealt slots.
func sharesOf(all []*hand) []share {
	all = slices.DeleteFunc(all, func(h *hand) bool { return h.has == h.held })
	slices.SortFunc(all, func(a, b *hand) int {
		return cmp.Or(a.member.compare(b.member), cmp.Compare(a.held, b.held), a.compare(b.waiter))
	})
	var shares []share
	for _, h := range all {
		for i, n := range h.dealt {
			if n > 0 {
				shares = append(shares, share{group: h.group, host: h.wants[i].host, slots: n})
			}
		}
	}
	return shares
}

// dealing is the state of one allocation besides its waiters.
type dealing struct {
	snapshot
	hosts map[string]*host
	// tried are the hosts that the current search has closed.
	tried []*host
}

// host is a template host during an allocation.
type host struct {
	// room is the number of free slots, or -1 for no limit.
	room int
	// keep is the headroom. Members with fewer slots than owed can use it.
	keep, owed int
	// owners have slots that were dealt on this host, in the order of their first slot.
	owners []*hand
	// closed is true after the current search has tried the host.
	closed bool
}

func (d *dealing) host(name string) *host {
	h, ok := d.hosts[name]
	if !ok {
		h = &host{owed: d.owedOnHost[name]}
		h.room, h.keep = d.room(name)
		d.hosts[name] = h
	}
	return h
}

// deal gives one more slot on any of the wanted hosts, and reports whether there was one. If clones is false, it gives only a slot for a task
// that is no clone.
func (d *dealing) deal(to *hand, clones bool) bool {
	for i, w := range to.wants {
		if to.dealt[i] < w.count && (clones || w.host == "") && d.vacate(w.host, to) {
			d.give(to, i)
			return true
		}
	}
	return false
}

// vacate makes room for one slot of to on a host, if necessary by moving slots that were dealt before.
func (d *dealing) vacate(name string, to *hand) bool {
	ok := d.search(name, to)
	for _, h := range d.tried {
		h.closed = false
	}
	d.tried = d.tried[:0]
	return ok
}

// search is one step of vacate.
func (d *dealing) search(name string, to *hand) bool {
	h := d.host(name)
	kept := h.keep // headroom for others
	if to.has == 0 || to.party.has < h.owed {
		kept = 0
	}
	switch {
	case h.closed || h.room >= 0 && h.room < kept:
		return false
	case h.room < 0:
		return true
	case h.room > kept:
		h.room--
		return true
	}
	h.closed = true // each host is tried once
	d.tried = append(d.tried, h)
	for _, owner := range h.owners {
		from := owner.index(name)
		if owner.dealt[from] == 0 {
			continue
		}
		for i, w := range owner.wants {
			if owner.dealt[i] < w.count && d.search(w.host, to) {
				d.give(owner, i)
				owner.dealt[from]--
				return true
			}
		}
	}
	return false
}

func (d *dealing) give(to *hand, i int) {
	h := d.host(to.wants[i].host)
	if to.dealt[i] == 0 && !slices.Contains(h.owners, to) {
		h.owners = append(h.owners, to)
	}
	to.dealt[i]++
}

// party is a member during an allocation.
type party struct {
	tenant
	// has is the number of held and dealt slots.
	has int
	// hands are its groups that can get more.
	hands ordered[*hand]
}

func (p *party) before(o *party) bool {
	return cmp.Or(cmp.Compare(p.has, o.has), cmp.Compare(p.since, o.since), cmp.Compare(p.name, o.name)) < 0
}

func (*party) moved(int) {}

// hand is a waiter with its dealt slots.
type hand struct {
	waiter
	party *party
	// has is the number of held and dealt slots.
	has int
	// dealt has one number for each want.
	dealt []int
}

func newHand(w waiter, of *party) *hand {
	if len(w.wants) > 1 {
		w.wants = slices.Clone(w.wants)
		slices.SortFunc(w.wants, func(a, b want) int {
			return cmp.Or(begins(a)-begins(b), cmp.Compare(a.since, b.since), cmp.Compare(a.host, b.host))
		})
	}
	return &hand{waiter: w, party: of, has: w.held, dealt: make([]int, len(w.wants))}
}

// begins is 1 for clones and 0 for other tasks: a group finishes its VMs before it begins others. If many groups wait, each gets one slot in a
// round, and a cloned VM would otherwise wait several rounds for its power-on.
func begins(w want) int {
	if w.host == "" {
		return 0
	}
	return 1
}

func (h *hand) full() bool { return h.window > 0 && h.has >= h.window }

func (h *hand) index(host string) int {
	return slices.IndexFunc(h.wants, func(w want) bool { return w.host == host })
}

func (h *hand) before(o *hand) bool {
	return cmp.Or(cmp.Compare(h.has, o.has), h.compare(o.waiter)) < 0
}

func (*hand) moved(int) {}

// compare orders groups of one member with the same number of slots.
func (w *waiter) compare(o waiter) int {
	return cmp.Or(cmp.Compare(w.since, o.since), cmp.Compare(w.group, o.group))
}
