package budget

import (
	"slices"
	"sync"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// ClaimWindow is the time for which slots are kept for a notified group.
const ClaimWindow = 2 * time.Second

// Limits limit the tasks of one vCenter.
type Limits struct {
	// Tasks is the maximum number of concurrent tasks. With 0 or less, none is granted.
	Tasks int
	// TasksPerHost limits the clones from templates on one host. With 0 or less, only Tasks limits them.
	TasksPerHost int
}

// Budget shares the task slots of one vCenter. All methods are safe for concurrent use, and none blocks. It starts no goroutine. While slots are kept
// for a group, one timer runs.
type Budget struct {
	notifier vsphere.GroupNotifier
	clock    Clock
	claim    time.Duration

	mu     sync.Mutex
	limits Limits
	caps   Caps
	// groups are the groups with any state: see group.idle. members are theirs.
	groups  map[string]*group
	members map[string]*member
	// waiting contains the groups that could use a slot now. wanted is the demand of all, as far as their slow start permits.
	waiting index
	wanted  demands
	// held slots are reserved or running. heldOnHost counts the clones among them, by host.
	held, running int
	heldOnHost    map[string]int
	// heldBy are the slots of each member, by host. The empty host is for tasks that are no clones.
	heldBy map[string]map[*member]int
	// offers are the demands with kept slots, and the end of their claim window.
	offers map[slot]time.Time
	// present are the groups that asked for any number of slots, even zero, since they were last forgotten. With only one group, no headroom is kept.
	present map[string]struct{}
	// last is the last number given to a waiter.
	last uint64
	// wakeAt is the time of the timer, or zero if none runs. stop stops the timer.
	wakeAt time.Time
	stop   func()
	// sharer is notified once after a change of Usage, and again only after the next call of Usage: see OnUsage.
	sharer Sharer
	// used is true if Usage can have changed since the last notification of sharer. told is true from a notification to the next call of Usage.
	used, told bool
}

// slot identifies a slot that can be reserved.
type slot struct{ group, host string }

// New returns a budget. It notifies a group when slots are kept for a demand that it could not grant. notifier is called without locks, in the goroutine
// of any other call or of a timer, possibly concurrently. It can call the budget, and must not block.
func New(limits Limits, notifier vsphere.GroupNotifier) *Budget {
	return NewWithClock(limits, notifier, systemClock(), ClaimWindow)
}

// NewWithClock is New with the given clock and claim window.
func NewWithClock(limits Limits, notifier vsphere.GroupNotifier, clock Clock, claim time.Duration) *Budget {
	return &Budget{
		notifier: notifier, clock: clock, claim: claim, limits: limits, caps: NoCaps,
		groups: make(map[string]*group), members: make(map[string]*member), waiting: make(index),
		wanted: demands{hosts: make(map[string]int)}, heldOnHost: make(map[string]int), heldBy: make(map[string]map[*member]int), offers: make(map[slot]time.Time),
		present: make(map[string]struct{}),
	}
}

// SetLimits changes the limits. Lower limits revoke no slot: nothing is granted until enough tasks have ended.
func (b *Budget) SetLimits(limits Limits) {
	b.change(func() { b.limits, b.used = limits, true })
}

// Acquire reserves up to want slots for a group, named by its vsphere.GroupKey. They are for clones of a template on host or, if host is empty, for
// tasks that are no clones. The rest is remembered until the group asks for the same host again, and replaces its earlier demand. A want of 0 withdraws
// the demand. If a group asks for 0 tasks that are no clones and holds no slot, it has finished its clones: its next demand is behind all waiting ones.
// The caller releases the grant after starting what it could. After any call, even with 0, others leave headroom for the group: see Forget.
func (b *Budget) Acquire(groupName, host string, want int) *Grant {
	return b.acquire(groupName, host, want, false)
}

// AcquireBehind is Acquire for a group that lacks no VM and only changes its existing ones. Until its next Acquire, it counts with one slot more than it
// holds: groups that hold none have priority and find the headroom free.
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
	b.unlock(b.offer(shares)) // the shares of others are unchanged
	return grant
}

// Start makes a reserved slot of the group a running one, until done is called with the result of the task. A failure (false) makes the group start
// slowly. Further calls of done have no effect. Without a reserved slot, Start takes one anyway, because the task runs. The limits can then be exceeded.
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

// end counts the end of a task. failures is the group's number of failures when the task started.
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

// Forget removes a group's demands and its slow start, because the group was deleted or another process now owns it. Its running tasks are counted until
// they end. Until its next call, no headroom is kept for it.
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

// Running is the number of running tasks.
func (b *Budget) Running() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.running
}

// Reserved is the number of slots that were granted to a group for host and neither started nor released.
func (b *Budget) Reserved(groupName, host string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if g, ok := b.groups[groupName]; ok {
		return g.reserved(host)
	}
	return 0
}

// Demand is the number of running, reserved or wanted slots, without regard to limits.
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

// change runs f with the lock held, makes a new decision, and notifies after releasing the lock.
func (b *Budget) change(f func()) {
	b.mu.Lock()
	f()
	b.unlock(b.offer(b.decide()))
}

// unlock releases the lock, and then notifies the groups and the sharer.
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

// group returns the group with a name, and creates it if needed.
func (b *Budget) group(name string) *group {
	g, ok := b.groups[name]
	if !ok {
		g = &group{name: name, member: b.member(name), demands: make(map[string]*demand), grants: make(map[string][]*Grant)}
		g.member.groups++
		b.groups[name] = g
	}
	return g
}

// member returns the member of a group, and creates it if needed.
func (b *Budget) member(groupName string) *member {
	name := vsphere.GroupKey(groupName).Member()
	m, ok := b.members[name]
	if !ok {
		m = &member{name: name, queues: make(map[lane]*queue)}
		b.members[name] = m
	}
	return m
}

// update changes the state of a group, and everything derived from it.
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

// tidy drops a group without any state to remember.
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

// hold counts n more slots, or fewer if n is negative. Call it only within an update.
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

// next returns a number greater than all earlier ones.
func (b *Budget) next() uint64 {
	b.last++
	return b.last
}
