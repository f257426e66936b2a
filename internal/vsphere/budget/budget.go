package budget

import (
	"slices"
	"sync"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// ClaimWindow is how long slots are kept for a group that was notified of them.
const ClaimWindow = 2 * time.Second

// Limits bound the tasks of one vCenter.
type Limits struct {
	// Tasks that may run at a time; with 0 or less none is granted.
	Tasks int
	// TasksPerHost bounds the clones from templates on one host; with 0 or less nothing but Tasks does.
	TasksPerHost int
}

// Budget shares the task slots of one vCenter. All methods are safe for concurrent use and none blocks.
// It starts no goroutine; while slots are kept for a group, one timer runs.
type Budget struct {
	notifier vsphere.GroupNotifier
	clock    Clock
	claim    time.Duration

	mu     sync.Mutex
	limits Limits
	caps   Caps
	// groups are those of which something is known; see group.idle. members are theirs.
	groups  map[string]*group
	members map[string]*member
	// waiting has the groups that could use a slot now; wanted is what all want, as far as their slow start lets them.
	waiting index
	wanted  demands
	// held slots are reserved or running; heldOnHost are those of clones, by host.
	held, running int
	heldOnHost    map[string]int
	// heldBy are the slots of each member, by host, empty for those of tasks that are no clones.
	heldBy map[string]map[*member]int
	// offers are the demands that slots are kept for, with the end of their claim window.
	offers map[slot]time.Time
	// present are the groups that asked for anything, be it nothing, since they were last forgotten. With only one,
	// nobody else can come, and no headroom is kept.
	present map[string]struct{}
	// last is the last number given to a waiter.
	last uint64
	// wakeAt is when the timer fires, or zero when none runs; stop stops it.
	wakeAt time.Time
	stop   func()
	// sharer is told once that Usage has changed, and not again before somebody has looked; see OnUsage.
	sharer Sharer
	// used is true when Usage may have changed since sharer was told, told when nobody has looked since.
	used, told bool
}

// slot names what can be reserved.
type slot struct{ group, host string }

// New returns a budget that notifies a group when slots are kept for it that it was refused. notifier is called
// without locks, in the goroutine of any other call or of a timer, maybe several times at once; it may call the
// budget, and it must not block.
func New(limits Limits, notifier vsphere.GroupNotifier) *Budget {
	return NewWithClock(limits, notifier, systemClock(), ClaimWindow)
}

// NewWithClock is New with a clock and a claim window of the caller's.
func NewWithClock(limits Limits, notifier vsphere.GroupNotifier, clock Clock, claim time.Duration) *Budget {
	return &Budget{
		notifier: notifier, clock: clock, claim: claim, limits: limits, caps: NoCaps,
		groups: make(map[string]*group), members: make(map[string]*member), waiting: make(index),
		wanted: demands{hosts: make(map[string]int)}, heldOnHost: make(map[string]int), heldBy: make(map[string]map[*member]int), offers: make(map[slot]time.Time),
		present: make(map[string]struct{}),
	}
}

// SetLimits changes the limits. Lower ones take nothing away: nothing is granted until enough has ended.
func (b *Budget) SetLimits(limits Limits) {
	b.change(func() { b.limits, b.used = limits, true })
}

// Acquire reserves up to want slots for a group, named by its vsphere.GroupKey, to clone from a template on host, or for tasks that are no clones
// if host is empty. What is not granted is remembered until the group asks for the same host again, in place of
// what it asked for before; asking for 0 withdraws it. A group that asks for 0 tasks that are no clones, and holds no slot, has finished what it cloned:
// what it asks for next comes after all that wait. The caller releases the grant when it has started what it
// could. A group that asks, even for 0, is one for which others leave headroom from now on; see Forget.
func (b *Budget) Acquire(groupName, host string, want int) *Grant {
	return b.acquire(groupName, host, want, false)
}

// AcquireBehind is Acquire for a group that lacks nothing, and only brings about a change of what it has. Until it asks with Acquire
// again, it counts as a group that holds one slot more than it does: those that hold none come before it, and find the headroom free.
func (b *Budget) AcquireBehind(groupName, host string, want int) *Grant {
	return b.acquire(groupName, host, want, true)
}

func (b *Budget) acquire(groupName, host string, want int, behind bool) *Grant {
	grant := &Grant{budget: b, group: groupName, host: host}
	b.mu.Lock()
	if g := b.group(groupName); g.behind != behind {
		b.update(g, func() { g.behind = behind })
	}
	g := b.ask(groupName, host, max(0, want))
	shares := slices.DeleteFunc(b.decide(), func(s share) bool {
		mine := s.group == groupName && s.host == host
		if mine {
			b.reserve(g, grant, s.slots)
		}
		return mine
	})
	b.unlock(b.offer(shares)) // the others' shares stay what they are
	return grant
}

// Start makes a reserved slot of the group's a running one, until done is called with the outcome of the task:
// false for a failure, which makes the group start slowly. Calling done again does nothing. Without a reserved
// slot it takes one all the same, since the task does run; the limits may then be exceeded.
func (b *Budget) Start(groupName, host string) (done func(ok bool)) {
	b.mu.Lock()
	defer b.unlock(nil)
	g := b.group(groupName)
	if !g.take(host) {
		b.update(g, func() { b.hold(g, host, 1) })
	}
	b.running++
	failures := g.slow.failures
	var once sync.Once
	return func(ok bool) {
		once.Do(func() { b.change(func() { b.end(g, host, ok, failures) }) })
	}
}

// end counts the end of a task that was started when the group had the given number of failures.
func (b *Budget) end(g *group, host string, ok bool, failures int) {
	b.running--
	b.update(g, func() {
		b.hold(g, host, -1)
		switch {
		case g.forgotten:
		case ok:
			g.slow.succeeded(failures, b.limits.Tasks)
		default:
			g.slow.failed()
			g.begun, g.since = false, b.next()
		}
	})
	b.tidy(g)
}

// Forget removes what a group waits for and its slow start, because the group is gone or is another process's
// now. Its running tasks stay counted until they are done. Until it asks again, no headroom is kept for it.
func (b *Budget) Forget(groupName string) {
	b.change(func() {
		delete(b.present, groupName)
		g, ok := b.groups[groupName]
		if !ok {
			return
		}
		b.used = true
		b.update(g, func() {
			clear(g.demands)
			g.slow = slowStart{}
			g.forgotten, g.begun = true, false
		})
		b.tidy(g)
	})
}

// Running is the number of tasks that run.
func (b *Budget) Running() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.running
}

// Reserved is the number of slots that were granted to a group for host and neither started nor given back.
func (b *Budget) Reserved(groupName, host string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if g, ok := b.groups[groupName]; ok {
		return g.reserved(host)
	}
	return 0
}

// Demand is the number of slots that are running, reserved or wanted, whatever limits them.
func (b *Budget) Demand() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.held
	for _, g := range b.groups {
		for _, d := range g.demands {
			if !d.lapsed {
				n += d.want
			}
		}
	}
	return n
}

// change runs f with the lock held, decides anew who waits for what, and notifies when the lock is free.
func (b *Budget) change(f func()) {
	b.mu.Lock()
	f()
	b.unlock(b.offer(b.decide()))
}

// unlock gives up the lock, and then tells the groups and whoever looks at the usage.
func (b *Budget) unlock(wake []string) {
	tell := b.used && !b.told && b.sharer != nil
	b.told = b.told || tell
	b.used = b.used && !tell
	b.mu.Unlock()
	for _, name := range wake {
		b.notifier.GroupChanged(vsphere.GroupKey(name))
	}
	if tell {
		b.sharer.Changed()
	}
}

// group returns the group of a name, new if need be.
func (b *Budget) group(name string) *group {
	g, ok := b.groups[name]
	if !ok {
		g = &group{name: name, member: b.member(name), demands: make(map[string]*demand), grants: make(map[string][]*Grant)}
		g.member.groups++
		b.groups[name] = g
	}
	return g
}

// member returns the member of a group, new if need be.
func (b *Budget) member(groupName string) *member {
	name := vsphere.GroupKey(groupName).Member()
	m, ok := b.members[name]
	if !ok {
		m = &member{name: name, queues: make(map[lane]*queue)}
		b.members[name] = m
	}
	return m
}

// update changes what is known of a group, and all that follows from it.
func (b *Budget) update(g *group, change func()) {
	b.waiting.remove(g)
	b.wanted.count(g, -1)
	waited := len(g.demands) > 0
	change()
	if waits := len(g.demands) > 0; waits && !waited {
		g.member.waiting++
	} else if waited && !waits {
		g.member.waiting--
	}
	b.wanted.count(g, 1)
	b.waiting.add(g)
}

// tidy drops a group of which nothing is to be remembered.
func (b *Budget) tidy(g *group) {
	if !g.idle() {
		return
	}
	delete(b.groups, g.name)
	if g.member.groups--; g.member.groups == 0 {
		delete(b.members, g.member.name)
	}
}

// reserve grants n of the slots that the group wants on the grant's host.
func (b *Budget) reserve(g *group, grant *Grant, n int) {
	grant.granted, grant.left = n, n
	g.grants[grant.host] = append(g.grants[grant.host], grant)
	b.update(g, func() {
		b.hold(g, grant.host, n)
		g.member.since = b.next()
		if g.begun = grant.host != "" && !g.begun; !g.begun {
			g.since = b.next()
		}
		d := g.demands[grant.host]
		d.want -= n
		d.since = b.next()
		if d.want == 0 {
			delete(g.demands, grant.host)
		}
	})
}

// hold counts n more slots, or fewer if n is negative. It belongs into an update.
func (b *Budget) hold(g *group, host string, n int) {
	g.held += n
	g.member.held += n
	b.held += n
	b.used = true
	b.holdBy(g.member, host, n)
	if host == "" {
		return
	}
	b.heldOnHost[host] += n
	if b.heldOnHost[host] == 0 {
		delete(b.heldOnHost, host)
	}
}

func (b *Budget) holdBy(m *member, host string, n int) {
	members, ok := b.heldBy[host]
	if !ok {
		members = make(map[*member]int)
		b.heldBy[host] = members
	}
	if members[m] += n; members[m] == 0 {
		delete(members, m)
	}
	if len(members) == 0 {
		delete(b.heldBy, host)
	}
}

// next returns a number greater than all before.
func (b *Budget) next() uint64 {
	b.last++
	return b.last
}
