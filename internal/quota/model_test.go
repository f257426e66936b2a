package quota_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/quota"
	"github.com/codeconnect/vmgroup-operator/internal/quota/quotatest"
)

// object is a group as its member stores it.
type object struct {
	exists   bool
	version  int
	spec     v1alpha1.VmGroupSpec
	admitted *v1alpha1.VmGroupSpec
}

func (o object) holds() policy.Usage {
	if o.admitted == nil {
		return policy.Usage{}
	}
	return policy.UsageOf(*o.admitted)
}

// model is several replicas with a ledger each, over one store.
type model struct {
	t        *rapid.T
	set      *policy.Set
	store    *quotatest.Store
	now      time.Time
	objects  []object
	born     []int // how often a group of this place was made
	holder   []int
	epoch    []int64
	replicas []*replica
	fault    quotatest.Fault
	// due are the groups that something tells their holders to look at.
	due map[int]bool
	// between is what happens while the next write is on its way.
	between []func()
}

type replica struct {
	m      *model
	ledger *quota.Ledger
	// view is the cache of the members.
	view []object
	// news are versions of the ledgers that its watch has still to tell.
	news []news
	// old is true for a replica of a release that knows the ledger of all totals only.
	old bool
}

// news are all ledgers as they were at a moment.
type news map[string]quota.Stored

const places = 5

func place(i int) policy.Requester {
	return policy.Requester{Member: "m", Namespace: fmt.Sprintf("ns-%d", i%2)}
}

func (m *model) uid(i int) types.UID { return types.UID(fmt.Sprintf("%d.%d", i, m.born[i])) }

func (m *model) key(i int) quota.Key { return quota.Key{Member: place(i).Member, UID: m.uid(i)} }

func (r *replica) Policies(context.Context) (*policy.Set, bool) { return r.m.set, true }
func (r *replica) Served(string) bool                           { return true }
func (r *replica) Members(context.Context) ([]string, error)    { return []string{"m"}, nil }
func (r *replica) Groups(context.Context) ([][]quota.Group, error) {
	var groups [][]quota.Group
	for i, o := range r.view {
		if o.exists {
			groups = append(groups, []quota.Group{{UID: r.m.uid(i), Name: "g", Requester: place(i), Holds: o.holds(), Granted: o.holds()}})
		}
	}
	return groups, nil
}

func quotaOf(scope v1alpha1.QuotaScope, groups, vms int32, cpu int64) v1alpha1.VmGroupPolicySpec {
	return v1alpha1.VmGroupPolicySpec{Quota: &v1alpha1.PolicyQuota{Scope: scope, Groups: &groups, VMs: &vms, CPU: &cpu}}
}

const mostGroups, mostVMs, mostCPU, mostOfAll = 2, 8, 12, 11

func newModel(t *rapid.T) *model {
	m := &model{
		t: t, store: &quotatest.Store{}, now: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC),
		objects: make([]object, places), born: make([]int, places), holder: make([]int, places), epoch: make([]int64, places),
		due: map[int]bool{},
		set: policy.Compile([]v1alpha1.VmGroupPolicy{
			{ObjectMeta: metav1.ObjectMeta{Name: "each"}, Spec: quotaOf(v1alpha1.QuotaNamespace, mostGroups, mostVMs, mostCPU)},
			{ObjectMeta: metav1.ObjectMeta{Name: "all"}, Spec: quotaOf(v1alpha1.QuotaMatch, 100, mostOfAll, 100)},
		}),
	}
	m.store.OnWrite = func() quotatest.Fault {
		fault, between := m.fault, m.between
		m.fault, m.between = quotatest.None, nil
		for _, do := range between {
			do()
		}
		return fault
	}
	for range 3 {
		m.replicas = append(m.replicas, m.newReplica(draw(t, "release", 2) == 0))
	}
	return m
}

func (m *model) newReplica(old bool) *replica {
	r := &replica{m: m, view: slices.Clone(m.objects), old: old}
	options := quota.Options{Store: m.store, Lister: r, Now: func() time.Time { return m.now }, Notify: func(id quota.Key) {
		for i := range m.objects {
			if m.key(i) == id && m.replicas[m.holder[i]] == r {
				m.due[i] = true
			}
		}
	}}
	options.Leading = func() bool {
		return !old && slices.IndexFunc(m.replicas, func(o *replica) bool { return !o.old }) == slices.Index(m.replicas, r)
	}
	options.Older = func() bool { return slices.ContainsFunc(m.replicas, func(o *replica) bool { return o.old }) }
	if old {
		options.Store, options.Older = before{m.store}, func() bool { return true }
	}
	options.Left = func(_ context.Context, id quota.Key, _, _ string) (policy.Usage, bool, error) {
		for i, o := range m.objects {
			if m.key(i) == id {
				return policy.Usage{}, !o.exists, nil
			}
		}
		return policy.Usage{}, true, nil
	}
	r.ledger = quota.New(options)
	return r
}

// before is the store as a release knows it that has one ledger for all totals: what stands in its place is one that it cannot read.
type before struct{ *quotatest.Store }

var errLater = errors.New("the ledger of quotas has format 2, this operator knows 1")

func (b before) Read(ctx context.Context, key string) (quota.Stored, error) {
	stored, err := b.Store.Read(ctx, key)
	return seenBefore(stored), err
}

func seenBefore(stored quota.Stored) quota.Stored {
	if stored.Format == 2 {
		return quota.Stored{Version: stored.Version, Seen: stored.Seen, Err: errLater}
	}
	return stored
}

// observe has the watch of a replica tell.
func (r *replica) observe(key string, stored quota.Stored) {
	switch {
	case !r.old:
		r.ledger.Observe(key, stored)
	case key == "":
		r.ledger.Observe(key, seenBefore(stored))
	}
}

// hear has the watch of a replica tell all that there is.
func (r *replica) hear(all news) {
	keys := slices.Sorted(maps.Keys(all))
	for _, key := range slices.Backward(keys) {
		r.observe(key, all[key])
	}
}

// pass is what the reconciler does with one group.
func (m *model) pass(i int) {
	r := m.replicas[m.holder[i]]
	o := r.view[i]
	delete(m.due, i)
	if !o.exists {
		return
	}
	uid, epoch := m.uid(i), v1alpha1.Epoch{Generation: 1, Number: m.epoch[i]}
	fresh := o.version == m.objects[i].version
	if needs, some := r.ledger.Surplus(m.key(i), o.holds(), policy.UsageOf(o.spec)); some && fresh {
		r.ledger.GiveBack(m.key(i), needs, epoch)
	} else if some {
		m.due[i] = true // later
	}
	answer := r.ledger.Ask(m.t.Context(), quota.Claim{
		Group: quota.Group{UID: uid, Name: "g", Requester: place(i), Holds: o.holds(), Granted: o.holds()}, Spec: o.spec, Wants: policy.UsageOf(o.spec), Epoch: epoch,
	})
	next := o.admitted
	switch {
	case answer.Outcome == quota.Waiting:
		m.due[i] = true // soon
		return
	case answer.Outcome == quota.Unavailable:
		m.due[i] = true // later
	case answer.Outcome == quota.Granted:
		spec := o.spec
		next = &spec
	case o.admitted != nil && *o.spec.Replicas < *o.admitted.Replicas:
		spec := *o.admitted
		spec.Replicas = o.spec.Replicas
		next = &spec
	}
	if !fresh || !m.objects[i].exists {
		r.view[i] = m.objects[i] // the write meets with a conflict, and the cache catches up
		m.due[i] = true
		return
	}
	if next == nil || (o.admitted != nil && policy.UsageOf(*next) == policy.UsageOf(*o.admitted)) {
		return
	}
	m.objects[i].admitted = next
	m.objects[i].version++
	r.view[i] = m.objects[i]
	m.due[i] = true // by the watch
}

// sync has the cache catch up.
func (r *replica) sync() {
	for i, o := range r.m.objects {
		if r.view[i].version != o.version && r.m.replicas[r.m.holder[i]] == r {
			r.m.due[i] = true
		}
	}
	copy(r.view, r.m.objects)
}

// edit changes a group's spec, and makes the group if there is none.
func (m *model) edit(i int, spec v1alpha1.VmGroupSpec) {
	if !m.objects[i].exists {
		m.born[i]++
		m.objects[i] = object{exists: true, version: m.objects[i].version}
	}
	m.objects[i].spec = spec
	m.objects[i].version++
	m.replicas[m.holder[i]].view[i] = m.objects[i]
	m.due[i] = true
}

func (m *model) takeOver(i, to int) {
	m.replicas[m.holder[i]].ledger.Forget(m.key(i))
	m.holder[i] = to
	m.epoch[i]++
	m.due[i] = true
}

func (m *model) flush(r *replica) {
	m.spread(func() { _ = r.ledger.Flush(m.t.Context()) })
}

// spread lets all watches tell, later, what do changes.
func (m *model) spread(do func()) {
	before := m.store.Version()
	do()
	if m.store.Version() != before {
		for _, other := range m.replicas {
			other.news = append(other.news, m.store.Stored())
		}
	}
}

func (m *model) check() {
	spaces := map[string]policy.Usage{}
	var all policy.Usage
	for i, o := range m.objects {
		if o.exists {
			spaces[place(i).Namespace] = spaces[place(i).Namespace].Add(o.holds())
			all = all.Add(o.holds())
		}
	}
	for namespace, used := range spaces {
		if used.Groups > mostGroups || used.VMs > mostVMs || used.CPU > mostCPU {
			m.t.Fatalf("%s was granted %+v, more than its quota\nledger %+v", namespace, used, m.store.Entries())
		}
	}
	if all.VMs > mostOfAll {
		m.t.Fatalf("all together were granted %d VMs, more than %d\nledger %+v", all.VMs, mostOfAll, m.store.Entries())
	}
}

func draw(t *rapid.T, name string, n int) int { return rapid.IntRange(0, n-1).Draw(t, name) }

func drawSpec(t *rapid.T) v1alpha1.VmGroupSpec {
	replicas := int32(draw(t, "replicas", 7))
	return v1alpha1.VmGroupSpec{CPU: int32(1 + draw(t, "cpu", 3)), Memory: 1, Template: "t", Replicas: &replicas}
}

// TestQuotasAreNeverExceeded: whoever holds a group, whatever a cache shows late and whichever reply is lost, what groups
// were admitted together stays within the quota. In the end everybody gets what there is room for, and nothing leaks.
func TestQuotasAreNeverExceeded(t *testing.T) {
	for range 10 { // one in some hundred inputs shows something
		rapid.Check(t, quotasAreKept)
	}
}

func quotasAreKept(t *rapid.T) {
	m := newModel(t)
	t.Repeat(map[string]func(*rapid.T){
		"":      func(*rapid.T) { m.check() },
		"edit":  func(t *rapid.T) { m.edit(draw(t, "group", places), drawSpec(t)) },
		"pass":  func(t *rapid.T) { m.pass(draw(t, "group", places)) },
		"flush": func(t *rapid.T) { m.flush(m.replicas[draw(t, "replica", 3)]) },
		"meanwhile": func(t *rapid.T) {
			// A group is edited, changes hands and is looked at while a write of some replica is on its way.
			i, spec, to := draw(t, "group", places), drawSpec(t), draw(t, "holder", 4)
			m.between = append(m.between, func() {
				if m.edit(i, spec); to < 3 {
					m.takeOver(i, to)
				}
				m.pass(i)
				m.pass(i)
			})
		},
		"fault": func(t *rapid.T) {
			m.fault = []quotatest.Fault{quotatest.Refuse, quotatest.LoseReply}[draw(t, "fault", 2)]
		},
		"takeover": func(t *rapid.T) { m.takeOver(draw(t, "group", places), draw(t, "holder", 3)) },
		"watch": func(t *rapid.T) {
			if r := m.replicas[draw(t, "replica", 3)]; len(r.news) > 0 {
				r.hear(r.news[0])
				r.news = r.news[1:]
			}
		},
		"sync": func(t *rapid.T) {
			m.replicas[draw(t, "replica", 3)].sync()
		},
		"delete": func(t *rapid.T) {
			i := draw(t, "group", places)
			o := &m.objects[i]
			r := m.replicas[m.holder[i]]
			if o.exists && r.view[i].version == o.version {
				r.ledger.GiveBack(m.key(i), policy.Usage{}, v1alpha1.Epoch{Generation: 1, Number: m.epoch[i]})
				*o = object{version: o.version + 1}
				r.view[i] = *o
			}
		},
		"restart": func(t *rapid.T) {
			n := draw(t, "replica", 3)
			// Whoever starts is of either release: an update, or a rollback.
			m.replicas[n] = m.newReplica(draw(t, "release", 2) == 0)
			for i := range m.holder {
				if m.holder[i] == n {
					m.epoch[i]++
					m.due[i] = true
				}
			}
		},
		"restore": func(t *rapid.T) {
			// The hub comes back from a backup, with or without a revision bump.
			now := m.store.Version()
			m.store.GoBack(draw(t, "backup", now+1), now*draw(t, "bump", 2))
			for _, r := range m.replicas {
				r.sync()
				r.news = nil
				m.store.Tell(r.observe)
			}
			m.now = m.now.Add(time.Minute)
			for _, r := range m.replicas {
				r.ledger.Collect(t.Context())
			}
		},
		"lose": func(t *rapid.T) {
			// Somebody deletes a ledger, or all. Watches and caches are given the time to tell.
			keys := slices.Sorted(maps.Keys(m.store.Stored()))
			if n := draw(t, "ledger", len(keys)+1); n < len(keys) {
				m.store.Lose(keys[n])
			} else {
				m.store.Lose()
			}
			for _, r := range m.replicas {
				r.sync()
				r.news = nil
				m.store.Tell(r.observe)
			}
		},
		"collect": func(t *rapid.T) {
			// The leader splits the ledger of all totals, if it may, and removes what nobody needs.
			m.now = m.now.Add(30 * time.Second)
			r := m.replicas[draw(t, "replica", 3)]
			m.spread(func() { r.ledger.Collect(t.Context()) })
		},
		"together": func(t *rapid.T) {
			// Another replica does so while it is under way.
			m.now = m.now.Add(30 * time.Second)
			one, other := m.replicas[draw(t, "replica", 3)], m.replicas[draw(t, "replica", 3)]
			m.between = append(m.between, func() {
				if other != one {
					other.ledger.Collect(t.Context())
				}
			})
			m.spread(func() { one.ledger.Collect(t.Context()) })
		},
	})
	m.settle()
}

// A model is at rest when nothing happens in quietRounds. Fewer are not enough: in one round the leader misses a group that is gone, in the next
// it lowers its entry, and in the third that is written. A step is longer than the leader waits for clones of such a group.
const (
	quietRounds, mostRounds = 4, 40
	step                    = 12 * time.Minute
)

// updateAll starts all replicas anew, as those of an update to its end, or back.
func (m *model) updateAll() {
	if draw(m.t, "update", 2) == 0 { // to its end, or back
		for n := range m.replicas {
			m.replicas[n] = m.newReplica(false)
		}
	} else if marker := m.store.Stored()[""]; marker.Format == 2 {
		m.store.Lose("") // as the message of the release before says
		for n := range m.replicas {
			m.replicas[n] = m.newReplica(true)
		}
	}
}

// settle lets everything come to rest and checks that what is granted is what there is room for. Nobody looks at a group without a
// reason.
func (m *model) settle() {
	m.fault, m.between = quotatest.None, nil
	m.updateAll()
	for i := range m.holder {
		m.epoch[i]++
		m.due[i] = true
	}
	for quiet, rounds := 0, 0; quiet < quietRounds; rounds++ {
		if rounds == mostRounds {
			m.t.Fatalf("there is no rest: due are %v, the ledger is %+v", m.due, m.store.Entries())
		}
		version := m.store.Version()
		for _, r := range m.replicas {
			r.sync()
		}
		for i := range m.objects {
			if m.due[i] {
				m.pass(i)
			}
		}
		for _, r := range m.replicas {
			m.flush(r)
			m.flush(r)
		}
		for _, r := range m.replicas {
			m.store.Tell(r.observe)
			r.news = nil
			r.ledger.Collect(m.t.Context())
		}
		m.now = m.now.Add(step)
		m.check()
		if quiet++; len(m.due) > 0 || m.store.Version() != version {
			quiet = 0
		}
	}
	entries := m.store.Entries()
	for i, o := range m.objects {
		if !o.exists {
			continue
		}
		e, ok := entries[m.key(i)]
		if ok != (o.admitted != nil) || e.Usage != o.holds() {
			m.t.Fatalf("group %d holds %+v and the ledger says %+v, %v", i, o.holds(), e.Usage, ok)
		}
		delete(entries, m.key(i))
		if policy.UsageOf(o.spec) == o.holds() {
			continue
		}
		r := m.replicas[m.holder[i]]
		if answer := r.ledger.Ask(m.t.Context(), quota.Claim{
			Group: quota.Group{UID: m.uid(i), Name: "g", Requester: place(i), Holds: o.holds(), Granted: o.holds()},
			Spec:  o.spec, Wants: policy.UsageOf(o.spec), Epoch: v1alpha1.Epoch{Generation: 1, Number: m.epoch[i]},
		}); answer.Outcome != quota.Refused || len(answer.Violations) == 0 {
			m.t.Fatalf("group %d is held without a reason: %+v", i, answer)
		}
	}
	if len(entries) > 0 && slices.ContainsFunc(m.replicas, func(r *replica) bool { return !r.old }) { // one leads
		m.t.Fatalf("groups that are gone are charged still: %+v", entries)
	}
}
