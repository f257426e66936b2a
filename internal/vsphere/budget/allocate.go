package budget

import (
	"cmp"
	"slices"
)

// snapshot is everything that an allocation depends on.
type snapshot struct {
	limits Limits
	// held is the number of slots that are reserved or running, by all groups; heldOnHost those of clones from
	// one host, by host.
	held       int
	heldOnHost map[string]int
	// keep and keepOnHost are the headroom: the number of free slots, of all and of each host, that no clone takes but
	// the first one of a group that holds nothing.
	keep, keepOnHost int
	// owed and owedOnHost, by host, are exceptions: any clone of a member that holds fewer slots than so many may take
	// what is kept.
	owed       int
	owedOnHost map[string]int
	// hosts has those for which something else holds than limits.TasksPerHost and keepOnHost.
	hosts map[string]hostLimit
	// waiters are the groups that want slots, each at most once, in any order.
	waiters []waiter
}

// hostLimit is the limit of clones of one host, and the headroom below it.
type hostLimit struct{ slots, keep int }

// tenant is a member when the allocation begins.
type tenant struct {
	name string
	// held is the number of slots that all its groups have, reserved or running.
	held int
	// since orders the members: a lower number waits longer.
	since uint64
}

// compare orders by neediness.
func (t tenant) compare(o tenant) int {
	return cmp.Or(cmp.Compare(t.held, o.held), cmp.Compare(t.since, o.since), cmp.Compare(t.name, o.name))
}

// waiter is a group that wants slots.
type waiter struct {
	// member is the same for all groups of one.
	member tenant
	group  string
	// held is the number of slots that the group has, reserved or running, and one more for a group that is behind.
	held int
	// window is the number of slots that the group may hold, counted likewise, or 0 for no such limit.
	window int
	// since orders the groups of one member: a lower number waits longer.
	since uint64
	// wants has each host at most once.
	wants []want
}

// want is what a waiter wants on one host.
type want struct {
	// host that the template lies on; empty for tasks that are no clones, which no host limits.
	host  string
	count int
	// since orders the wants of one waiter, clones after everything else: a lower number is served first.
	since uint64
}

// share is a number of free slots that a group shall have. It is never zero.
type share struct {
	group, host string
	slots       int
}

// free is the number of slots that can be had.
func (s *snapshot) free() int { return s.limits.Tasks - s.held }

// room is the number of free slots of a host, -1 for any number, and how many of them are headroom.
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

// open reports whether those in a lane can get anything whose members hold so many slots.
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

// allocate decides who gets the free slots. The result
//
//   - never exceeds a limit, a window or what is wanted;
//   - leaves the headroom free, except for what groups that hold nothing take as their first slot, for members that are
//     owed some of it, and for tasks that are no clones, since they are short;
//   - leaves no other slot free that somebody could use;
//   - is max-min fair between members: none gets a slot while another one that could use it has fewer;
//   - is so between the groups of a member: no other result gives more to a group without giving less to one that has no
//     more. A group with tasks that are no clones may get more, by as many as the headroom has;
//   - depends on the snapshot only, not on the order of anything in it.
//
// It is sorted by neediness: the members with the fewest held slots first, then those that wait longest, and so the groups of each.
//
// It deals slot after slot to the neediest group of the neediest member. When that one's host is full, slots that were
// dealt before are moved to other hosts if their owners want slots there too (an augmenting path, as in bipartite
// matching). Without moving, a group that wants any of two hosts could take the only host that a poorer one can use.
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
			m.hands.remove(0) // for good: what is full now does not become free while dealing
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

// handsOf returns the members with their waiters, and all of these.
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

// sharesOf returns what was dealt.
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

// dealing is the state of one allocation beyond its waiters.
type dealing struct {
	snapshot
	hosts map[string]*host
	// tried are the hosts that the search under way has closed.
	tried []*host
}

// host is a template host during an allocation.
type host struct {
	// room is the number of free slots, -1 for any number.
	room int
	// keep is the headroom, of which members that have fewer slots than owed may take some.
	keep, owed int
	// owners have slots that were dealt on this host, in the order in which they got the first.
	owners []*hand
	// closed is true when the search under way has tried it.
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

// deal gives to one more slot on any of the hosts that it wants, and reports whether there was one. Without clones it
// is one for a task that is no clone.
func (d *dealing) deal(to *hand, clones bool) bool {
	for i, w := range to.wants {
		if to.dealt[i] < w.count && (clones || w.host == "") && d.vacate(w.host, to) {
			d.give(to, i)
			return true
		}
	}
	return false
}

// vacate makes room for one slot of to on a host, by moving slots that were dealt before if it must.
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
	kept := h.keep // what is left free for others
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
	h.closed = true // so that it is tried once
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
	// has is held and what was dealt.
	has int
	// hands are its groups that may get more.
	hands ordered[*hand]
}

func (p *party) before(o *party) bool {
	return cmp.Or(cmp.Compare(p.has, o.has), cmp.Compare(p.since, o.since), cmp.Compare(p.name, o.name)) < 0
}

func (*party) moved(int) {}

// hand is a waiter and what it was dealt.
type hand struct {
	waiter
	party *party
	// has is held and what was dealt.
	has int
	// dealt has one number for each of wants.
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

// begins is 1 for clones and 0 for other tasks: a group finishes the VMs that it has before it begins others. Where many groups wait, each gets
// one slot in a round, and a VM that was cloned would wait for rounds to be powered on.
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

// compare orders groups of one member that have the same number of slots.
func (w *waiter) compare(o waiter) int {
	return cmp.Or(cmp.Compare(w.since, o.since), cmp.Compare(w.group, o.group))
}
