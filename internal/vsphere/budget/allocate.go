package budget

import (
	"cmp"
	"container/heap"
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
	// hosts has those for which something else holds than limits.TasksPerHost and keepOnHost.
	hosts map[string]hostLimit
	// waiters are the groups that want slots, each at most once, in any order.
	waiters []waiter
}

// hostLimit is the limit of clones of one host, and the headroom below it.
type hostLimit struct{ slots, keep int }

// waiter is a group that wants slots.
type waiter struct {
	group string
	// held is the number of slots that the group has, reserved or running, and one more for a group that is behind.
	held int
	// window is the number of slots that the group may hold, counted likewise, or 0 for no such limit.
	window int
	// since orders the waiters: a lower number waits longer.
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

// allocate decides who gets the free slots. The result
//
//   - never exceeds a limit, a window or what is wanted;
//   - leaves the headroom free, except for what groups that hold nothing take as their first slot, and for tasks
//     that are no clones, since they are short;
//   - leaves no other slot free that somebody could use;
//   - is max-min fair: no other result gives more to a group without giving less to one that has no more. A group with
//     tasks that are no clones may get more, by as many as the headroom has;
//   - depends on the snapshot only, not on the order of anything in it.
//
// It is sorted by neediness: fewest held slots first, then longest waiting.
//
// It deals slot after slot to the neediest waiter; so all who hold nothing come before anybody who has to leave the
// headroom. When that one's host is full, slots that were dealt before are moved to other hosts if their owners want
// slots there too (an augmenting path, as in bipartite matching). Without moving, a group that wants any of two hosts
// could take the only host that a poorer one can use.
func allocate(s snapshot) []share {
	free := s.limits.Tasks - s.held
	if free <= 0 || len(s.waiters) == 0 {
		return nil
	}
	d := dealing{snapshot: s, hosts: make(map[string]*host)}
	queue := make(hands, len(s.waiters))
	for i, w := range s.waiters {
		queue[i] = newHand(w)
	}
	all := slices.Clone(queue)
	heap.Init(&queue)
	for free > 0 && len(queue) > 0 {
		neediest := queue[0]
		if neediest.full() || !d.deal(neediest, neediest.has == 0 || free > s.keep) {
			heap.Pop(&queue) // for good: what is full now does not become free while dealing
			continue
		}
		free--
		neediest.has++
		heap.Fix(&queue, 0)
	}
	return sharesOf(all)
}

// sharesOf returns what was dealt.
func sharesOf(all []*hand) []share {
	all = slices.DeleteFunc(all, func(h *hand) bool { return h.has == h.held })
	for _, h := range all {
		h.has = h.held // sort by the neediness before
	}
	slices.SortFunc(all, (*hand).compare)
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
	// keep is the headroom.
	keep int
	// owners have slots that were dealt on this host, in the order in which they got the first.
	owners []*hand
	// closed is true when no slot can be had or freed here, or a search under way tries to.
	closed bool
}

func (d *dealing) host(name string) *host {
	h, ok := d.hosts[name]
	if !ok {
		h = &host{room: -1}
		if name != "" && d.limits.TasksPerHost > 0 {
			limit, ok := d.snapshot.hosts[name]
			if !ok {
				limit = hostLimit{d.limits.TasksPerHost, d.keepOnHost}
			}
			h.room, h.keep = max(0, limit.slots-d.heldOnHost[name]), limit.keep
		}
		d.hosts[name] = h
	}
	return h
}

// deal gives to one more slot on any of the hosts that it wants, and reports whether there was one. Without clones it
// is one for a task that is no clone.
func (d *dealing) deal(to *hand, clones bool) bool {
	first := to.has == 0
	for i, w := range to.wants {
		if to.dealt[i] < w.count && (clones || w.host == "") && d.vacate(w.host, first) {
			d.give(to, i)
			return true
		}
	}
	return false
}

// vacate makes room for one slot on a host, by moving slots that were dealt before if it must. Only the first slot of
// a group may come out of what is kept.
// Where it cannot, all the hosts that it tried are closed: what is dealt later cannot open one of them, since those who
// may use what is kept are dealt to first.
func (d *dealing) vacate(name string, first bool) bool {
	d.tried = d.tried[:0]
	ok := d.search(name, first)
	if ok {
		for _, h := range d.tried {
			h.closed = false
		}
	}
	return ok
}

// search is one step of vacate.
func (d *dealing) search(name string, first bool) bool {
	h := d.host(name)
	switch {
	case h.closed:
		return false
	case h.room < 0:
		return true
	case h.room > h.keep || first && h.room > 0:
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
			if owner.dealt[i] < w.count && d.search(w.host, first) {
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

// hand is a waiter and what it was dealt.
type hand struct {
	waiter
	// has is held and what was dealt.
	has int
	// dealt has one number for each of wants.
	dealt []int
}

func newHand(w waiter) *hand {
	if len(w.wants) > 1 {
		w.wants = slices.Clone(w.wants)
		slices.SortFunc(w.wants, func(a, b want) int {
			return cmp.Or(begins(a)-begins(b), cmp.Compare(a.since, b.since), cmp.Compare(a.host, b.host))
		})
	}
	return &hand{waiter: w, has: w.held, dealt: make([]int, len(w.wants))}
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

// compare orders by neediness.
func (h *hand) compare(o *hand) int {
	return cmp.Or(cmp.Compare(h.has, o.has), cmp.Compare(h.since, o.since), cmp.Compare(h.group, o.group))
}

// hands is a heap with the neediest first.
type hands []*hand

func (h hands) Len() int           { return len(h) }
func (h hands) Less(i, j int) bool { return h[i].compare(h[j]) < 0 }
func (h hands) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push satisfies heap.Interface; nothing is ever pushed.
func (h *hands) Push(x any) { *h = append(*h, x.(*hand)) }

// Pop satisfies heap.Interface.
func (h *hands) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}
