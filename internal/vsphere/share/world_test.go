package share

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/budget"
)

const vc = "vc"

// world has replicas that see each other's published data late and in any order, on virtual time.
type world struct {
	t        *testing.T
	rand     *rand.Rand
	now      time.Time
	events   []event
	limits   budget.Limits
	replicas []*replica
	born     int
	// delay is the maximum delay of published data; reorder delivers older data after newer.
	delay   time.Duration
	reorder bool
	// failures makes some tasks fail.
	failures bool
	// epoch counts leaders.
	epoch  int
	leader string
}

type event struct {
	at time.Time
	do func()
}

// replica is one process.
type replica struct {
	*Coordinator
	w       *world
	session string
	budget  *budget.Budget
	dead    bool
	own     map[string]string
	// seen is the published data of others by session, in the last delivered version.
	seen     map[string]map[string]string
	seenAt   map[string]int
	leader   string
	epoch    int
	versions int
	// missing are the VMs that groups want, due the notified groups.
	missing map[string]int
	due     []string
	length  time.Duration
	// extra is true from when no grant mentions it until no limit is exceeded.
	extra bool
}

func newWorld(t *testing.T, seed uint64, limits budget.Limits) *world {
	return &world{
		t: t, rand: rand.New(rand.NewPCG(seed, 0)), now: time.Unix(1_000_000, 0), limits: limits, delay: 200 * time.Millisecond,
	}
}

func (w *world) after(d time.Duration, f func()) { w.events = append(w.events, event{w.now.Add(d), f}) }

func (w *world) random(d time.Duration) time.Duration { return time.Duration(w.rand.Int64N(int64(d))) }

// run advances time, and checks after each event that usage is within the limits.
func (w *world) run(d time.Duration) {
	w.t.Helper()
	end := w.now.Add(d)
	for {
		w.settle()
		if len(w.events) == 0 {
			break
		}
		next := 0
		for i, e := range w.events {
			if e.at.Before(w.events[next].at) {
				next = i
			}
		}
		if w.events[next].at.After(end) {
			break
		}
		e := w.events[next]
		w.events = slices.Delete(w.events, next, next+1)
		w.now = e.at
		e.do()
	}
	w.now = end
}

// settle runs all replicas that were woken.
func (w *world) settle() {
	w.t.Helper()
	for busy := true; busy; {
		busy = false
		for _, r := range w.replicas {
			select {
			case <-r.kick:
				r.look()
				busy = true
				w.check()
			default:
			}
			if r.serve() {
				busy = true
				w.check()
			}
		}
	}
}

// check fails if more can be used than the limits allow. A replica that no grant mentions can use one more. Only tasks
// of others that end compensate for it.
func (w *world) check() {
	w.t.Helper()
	using, extra := 0, 0
	hosts := map[string]int{}
	for _, r := range w.replicas {
		u := r.budget.Usage()
		using += u.Using
		for host, h := range u.Hosts {
			hosts[host] += h.Using
		}
		if r.extra = r.extra || r.holders[vc].caps.OtherHosts == 1; r.extra {
			extra++
		}
	}
	over := max(0, using-w.limits.Tasks)
	for _, n := range hosts {
		over = max(over, n-w.limits.TasksPerHost)
	}
	switch {
	case over > extra:
		w.log()
		w.t.Fatalf("%d slots may be held of %d, %v of hosts of %d, by %d that took extra ones",
			using, w.limits.Tasks, hosts, w.limits.TasksPerHost, extra)
	case over == 0:
		for _, r := range w.replicas {
			r.extra = false
		}
	}
}

// log prints the knowledge of all replicas.
func (w *world) log() {
	for _, r := range w.replicas {
		h := r.holders[vc]
		w.t.Logf("%s follows %s, caps %+v until %s\n%s\n%s", r.session, r.leader, h.caps, h.until.Sub(w.now),
			r.own[claimsKey], r.own[grantsKey])
	}
}

// notify is a vsphere.GroupNotifier.
type notify func(group string)

func (n notify) GroupChanged(group vsphere.GroupKey) { n(string(group)) }

func (w *world) join() *replica {
	w.born++
	r := &replica{
		w: w, session: fmt.Sprintf("s%02d", w.born), own: map[string]string{}, seen: map[string]map[string]string{},
		seenAt: map[string]int{}, missing: map[string]int{}, length: 5 * time.Second, leader: w.leader, epoch: w.epoch,
	}
	r.budget = budget.NewWithClock(w.limits, notify(func(g string) { r.due = append(r.due, g) }), budget.Clock{
		Now: func() time.Time { return w.now },
		AfterFunc: func(d time.Duration, f func()) func() {
			stopped := false
			w.after(d, func() {
				if !stopped && !r.dead {
					f()
				}
			})
			return func() { stopped = true }
		},
	}, budget.ClaimWindow)
	r.Coordinator = New(r, func() time.Time { return w.now })
	r.Add(vc, r.budget)
	for _, o := range w.replicas {
		r.deliver(o.session, o.versions, maps.Clone(o.own))
	}
	w.replicas = append(w.replicas, r)
	r.send()
	r.tick()
	return r
}

func (r *replica) tick() {
	r.w.after(lookEvery, func() {
		if !r.dead {
			r.Changed()
			r.tick()
		}
	})
}

// Publish satisfies Peers.
func (r *replica) Publish(key, value string) {
	if r.own[key] == value {
		return
	}
	r.own[key] = value
	r.send()
}

func (r *replica) send() {
	r.versions++
	version, published := r.versions, maps.Clone(r.own)
	for _, o := range r.w.replicas {
		if o != r {
			r.w.after(r.w.random(r.w.delay), func() {
				if !r.dead {
					o.deliver(r.session, version, published)
				}
			})
		}
	}
}

func (r *replica) deliver(session string, version int, published map[string]string) {
	if version < r.seenAt[session] && !r.w.reorder {
		return
	}
	r.seen[session], r.seenAt[session] = published, version
	r.Changed()
}

// Peers satisfies Peers.
func (r *replica) Peers() []Peer {
	published := make([]Peer, 0, 1+len(r.seen))
	published = append(published, Peer{Session: r.session, Self: true, Leader: r.leader == r.session, Published: r.own})
	for _, session := range slices.Sorted(maps.Keys(r.seen)) {
		published = append(published, Peer{Session: session, Leader: r.leader == session, Published: r.seen[session]})
	}
	return published
}

// lead makes a replica the leader; others learn it later.
func (w *world) lead(l *replica) {
	w.epoch++
	w.leader = l.session
	epoch := w.epoch
	for _, r := range w.replicas {
		learn := func() {
			if r.epoch < epoch {
				r.leader, r.epoch = l.session, epoch
				r.Changed()
			}
		}
		if r == l {
			learn()
		} else {
			w.after(w.random(w.delay), learn)
		}
	}
}

// kill ends a process with all its tasks; others see that later. Then another replica leads.
func (w *world) kill(r *replica) {
	r.dead = true
	w.replicas = slices.DeleteFunc(w.replicas, func(o *replica) bool { return o == r })
	for _, o := range w.replicas {
		w.after(w.random(w.delay), func() {
			delete(o.seen, r.session)
			o.Changed()
		})
	}
	if w.leader == r.session && len(w.replicas) > 0 {
		w.lead(w.replicas[w.rand.IntN(len(w.replicas))])
	}
}

// wants makes a group of the replica want n more VMs; the group names its host before a slash.
func (r *replica) wants(group string, vms int) {
	r.missing[group] = vms
	r.due = append(r.due, group)
}

// serve runs the requests of all notified groups.
func (r *replica) serve() bool {
	due := r.due
	r.due = nil
	for _, group := range due {
		host := group[:1]
		if host == "-" {
			host = ""
		}
		slots := r.budget.Acquire(group, host, r.missing[group])
		for range slots.Granted() {
			r.missing[group]--
			done := r.budget.Start(group, host)
			r.w.after(r.length/2+r.w.random(r.length), func() {
				if !r.dead {
					done(!r.w.failures || r.w.rand.IntN(20) > 0)
				}
			})
		}
		slots.Release()
	}
	return len(due) > 0
}

func (r *replica) held() int { return r.budget.Usage().Held }

func (w *world) held() (n int) {
	for _, r := range w.replicas {
		n += r.held()
	}
	return n
}

// some returns n replicas, of which the first leads.
func (w *world) some(n int) []*replica {
	for range n {
		r := w.join()
		if w.leader == "" {
			w.lead(r)
		}
	}
	w.run(3 * time.Second)
	return slices.SortedFunc(slices.Values(w.replicas), func(a, b *replica) int { return cmp.Compare(a.session, b.session) })
}
