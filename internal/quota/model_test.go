package quota_test

import (
	"cmp"
	"context"
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
	born     int // see model.born
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
	t       *rapid.T
	set     *policy.Set
	store   *quotatest.Store
	now     time.Time
	objects []object
	born    []int // the number of groups created in this place
	kept    map[quota.Key]kept
	// records are the admitted specs on the hub, backups the records at each version of the ledgers: both are restored together.
	records  map[quota.Key]v1alpha1.VmGroupSpec
	backups  map[int]map[quota.Key]v1alpha1.VmGroupSpec
	holder   []int
	epoch    []int64
	replicas []*replica
	fault    quotatest.Fault
	// due are the groups whose holders must reconcile them.
	due map[int]bool
	// between runs during the next write.
	between []func()
}

type replica struct {
	m      *model
	ledger *quota.Ledger
	// view is the cache of the members.
	view []object
	// news are versions of the ledgers that its watch has yet to report.
	news []news
}

// news are all ledgers at one moment.
type news map[string]quota.Stored

const places = 5

func place(i int) policy.Requester {
	return policy.Requester{Member: "m", Namespace: fmt.Sprintf("ns-%d", i%2)}
}

func (m *model) uid(i int) types.UID { return types.UID(fmt.Sprintf("%d.%d", i, m.born[i])) }

func (m *model) key(i int) quota.Key { return quota.Key{Member: place(i).Member, UID: m.uid(i)} }

// shown is the key of a group as a cache shows it: an old cache shows the group that was in this place before.
func (m *model) shown(i int, o object) quota.Key {
	return quota.Key{Member: place(i).Member, UID: types.UID(fmt.Sprintf("%d.%d", i, o.born))}
}

func (r *replica) Policies(context.Context) (*policy.Set, bool) { return r.m.set, true }
func (r *replica) Served(string) bool                           { return true }
func (r *replica) Members(context.Context) ([]string, error)    { return []string{"m"}, nil }
func (r *replica) Groups(context.Context) ([][]quota.Group, error) {
	var groups [][]quota.Group
	for i, o := range r.view {
		if o.exists {
			held, granted := r.m.recorded(i, o)
			groups = append(groups, []quota.Group{{UID: r.m.shown(i, o).UID, Name: "g", Requester: place(i), Holds: held, Granted: granted}})
		}
	}
	return groups, nil
}

// recorded is the usage of a group by its record, its status and its VMs, and the part that needs no grant: status can only lower the record. Without a
// record it is the usage in vCenter.
func (m *model) recorded(i int, o object) (held, granted policy.Usage) {
	record, ok := m.records[m.shown(i, o)]
	if !ok || o.admitted == nil {
		return o.holds(), o.holds()
	}
	on := policy.UsageOf(record)
	return on.Max(o.holds()), on.Min(o.holds())
}

// record stores the admitted spec of a group, or the rest of a record that exceeds status.
func (m *model) record(id quota.Key, admitted *v1alpha1.VmGroupSpec, anew bool) {
	was, ok := m.records[id]
	if admitted != nil && (anew || ok && !policy.UsageOf(*admitted).Covers(policy.UsageOf(was))) {
		m.records[id] = *admitted
	}
}

func quotaOf(scope v1alpha1.QuotaScope, groups, vms int32, cpu int64) v1alpha1.VmGroupPolicySpec {
	return v1alpha1.VmGroupPolicySpec{Quota: &v1alpha1.PolicyQuota{Scope: scope, Groups: &groups, VMs: &vms, CPU: &cpu}}
}

const mostGroups, mostVMs, mostCPU, mostOfAll = 2, 8, 12, 11

func newModel(t *rapid.T) *model {
	m := &model{
		t: t, store: &quotatest.Store{}, now: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC),
		objects: make([]object, places), born: make([]int, places), holder: make([]int, places), epoch: make([]int64, places),
		due: map[int]bool{}, kept: map[quota.Key]kept{},
		records: map[quota.Key]v1alpha1.VmGroupSpec{}, backups: map[int]map[quota.Key]v1alpha1.VmGroupSpec{},
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
		m.replicas = append(m.replicas, m.newReplica())
	}
	return m
}

// Leading implements sharding.Leader: the first replica leads.
func (r *replica) Leading() bool { return r.m.replicas[0] == r }

func (m *model) newReplica() *replica {
	r := &replica{m: m, view: slices.Clone(m.objects)}
	r.ledger = quota.New(quota.Options{
		Store: m.store, Lister: r, Listener: r, Now: func() time.Time { return m.now }, Leader: r, Inspector: r,
	})
	return r
}

// QuotaAnswered implements quota.Listener.
func (r *replica) QuotaAnswered(id quota.Key) {
	m := r.m
	for i := range m.objects {
		if m.key(i) == id && m.replicas[m.holder[i]] == r {
			m.due[i] = true
		}
	}
}

// Left implements quota.Inspector.
func (r *replica) Left(_ context.Context, id quota.Key, _, _ string) (policy.Usage, bool, error) {
	m := r.m
	for i, o := range m.objects {
		if m.key(i) == id && o.exists {
			return policy.Usage{}, false, nil
		}
	}
	return m.kept[id].left, true, nil
}

// hear makes the watch of a replica report all versions.
func (r *replica) hear(all news) {
	keys := slices.Sorted(maps.Keys(all))
	for _, key := range slices.Backward(keys) {
		r.ledger.Observe(key, all[key])
	}
}

// pass is the reconciler's work for one group.
func (m *model) pass(i int) {
	r := m.replicas[m.holder[i]]
	o := r.view[i]
	delete(m.due, i)
	if !o.exists {
		return
	}
	id, epoch := m.shown(i, o), v1alpha1.Epoch{Generation: 1, Number: m.epoch[i]}
	fresh := o.version == m.objects[i].version
	_, granted := m.recorded(i, o)
	needs, some := r.ledger.Surplus(id, o.holds(), policy.UsageOf(o.spec))
	if some && fresh {
		r.ledger.GiveBack(id, o.holds(), needs, epoch)
	} else if some {
		m.due[i] = true // later
	}
	answer := r.ledger.Ask(m.t.Context(), quota.Claim{
		Group: quota.Group{UID: id.UID, Name: "g", Requester: place(i), Holds: o.holds(), Granted: granted}, Spec: o.spec, Wants: policy.UsageOf(o.spec), Epoch: epoch,
	})
	next := o.admitted
	switch {
	case answer.Outcome == quota.Waiting:
		if some && fresh {
			m.record(id, o.admitted, false) // the record counts in the write that the claim waits for
		}
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
	m.record(id, next, answer.Outcome == quota.Granted) // before status, so that it stays if status conflicts
	if !fresh || !m.objects[i].exists {
		r.view[i] = m.objects[i] // the write conflicts, and the cache catches up
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

// sync makes the cache catch up.
func (r *replica) sync() {
	for i, o := range r.m.objects {
		if r.view[i].version != o.version && r.m.replicas[r.m.holder[i]] == r {
			r.m.due[i] = true
		}
	}
	copy(r.view, r.m.objects)
}

// edit changes a group's spec, or creates the group.
func (m *model) edit(i int, spec v1alpha1.VmGroupSpec) {
	if !m.objects[i].exists {
		m.born[i]++
		m.objects[i] = object{exists: true, born: m.born[i], version: m.objects[i].version}
	}
	m.objects[i].spec = spec
	m.objects[i].version++
	m.replicas[m.holder[i]].view[i] = m.objects[i]
	m.due[i] = true
}

// backup keeps the records with the version of the ledgers, and returns that version.
func (m *model) backup() int {
	m.backups[m.store.Version()] = maps.Clone(m.records)
	return m.store.Version()
}

// become edits a group, and makes its holder act on it.
func (m *model) become(i int, spec v1alpha1.VmGroupSpec) {
	m.edit(i, spec)
	for range 3 {
		m.pass(i)
		m.flush(m.replicas[m.holder[i]])
	}
}

// restore sets the hub back to a version, with a revision bump or without. Records and ledgers are in one storage: backups of
// records under reused version numbers are dropped.
func (m *model) restore(version, bump int) {
	m.store.GoBack(version, m.store.Version()*bump)
	now := m.store.Version()
	maps.DeleteFunc(m.backups, func(at int, _ map[quota.Key]v1alpha1.VmGroupSpec) bool { return at > now })
	was := m.records
	m.records = map[quota.Key]v1alpha1.VmGroupSpec{}
	for at := version; at >= 0; at-- {
		if records, ok := m.backups[at]; ok {
			m.records = maps.Clone(records)
			break
		}
	}
	m.backup()
	for i := range m.objects {
		if id := m.key(i); policy.UsageOf(was[id]) != policy.UsageOf(m.records[id]) {
			m.due[i] = true // a watch reports records
		}
	}
	for _, r := range m.replicas {
		r.sync()
		r.news = nil
		m.store.Tell(r.ledger.Observe)
	}
	m.now = m.now.Add(time.Minute)
	for _, r := range m.replicas {
		r.ledger.Collect(m.t.Context())
	}
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

// spread makes all watches report the changes of do, later.
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
	m.backup()
	spaces := map[string]policy.Usage{}
	var all policy.Usage
	for i, o := range m.objects {
		if o.exists {
			spaces[place(i).Namespace] = spaces[place(i).Namespace].Add(o.holds())
			all = all.Add(o.holds())
		}
	}
	for _, k := range m.kept {
		spaces[k.of.Namespace] = spaces[k.of.Namespace].Add(k.left)
		all = all.Add(k.left)
	}
	for namespace, used := range spaces {
		if used.Groups > mostGroups || used.VMs > mostVMs || used.CPU > mostCPU {
			m.t.Fatalf("%s has %+v, more than its quota\nledger %+v\nkept %+v", namespace, used, m.store.Entries(), m.kept)
		}
	}
	if all.VMs > mostOfAll {
		m.t.Fatalf("all together have %d VMs, more than %d\nledger %+v\nkept %+v", all.VMs, mostOfAll, m.store.Entries(), m.kept)
	}
}

func draw(t *rapid.T, name string, n int) int { return rapid.IntRange(0, n-1).Draw(t, name) }

func drawSpec(t *rapid.T) v1alpha1.VmGroupSpec {
	replicas := int32(draw(t, "replicas", 7))
	return v1alpha1.VmGroupSpec{CPU: int32(1 + draw(t, "cpu", 3)), Memory: 1, Template: "t", Replicas: &replicas}
}

// TestQuotasAreNeverExceeded: whichever replica holds a group, whatever a cache shows late and whichever reply is lost, the
// total of admitted usage stays within the quota. In the end every group gets what there is room for, and nothing leaks.
func TestQuotasAreNeverExceeded(t *testing.T) {
	for range 10 { // one in some hundred inputs finds a fault
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
			// A group is edited, changes its holder and is reconciled during a write of some replica.
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
		"delete": func(t *rapid.T) { m.delete(draw(t, "group", places), false) },
		"keep":   func(t *rapid.T) { m.delete(draw(t, "group", places), true) },
		"delete kept VMs": func(t *rapid.T) {
			// A user deletes the remaining VMs of a group.
			if ids := slices.SortedFunc(maps.Keys(m.kept), func(a, b quota.Key) int { return cmp.Compare(a.UID, b.UID) }); len(ids) > 0 {
				delete(m.kept, ids[draw(t, "kept", len(ids))])
			}
		},
		"restart": func(t *rapid.T) {
			n := draw(t, "replica", 3)
			m.replicas[n] = m.newReplica()
			for i := range m.holder {
				if m.holder[i] == n {
					m.epoch[i]++
					m.due[i] = true
				}
			}
		},
		"restore": func(t *rapid.T) {
			// The hub is restored from a backup, with or without a revision bump.
			m.restore(draw(t, "backup", m.store.Version()+1), draw(t, "bump", 2))
		},
		"kept since the backup": func(t *rapid.T) {
			// A group grows, and is deleted without its VMs. Then the hub is restored from an earlier backup.
			i, before := draw(t, "group", places), m.store.Version()
			m.become(i, drawSpec(t))
			m.delete(i, true)
			m.restore(min(before, m.store.Version()), draw(t, "bump", 2))
		},
		"given to others since the backup": func(t *rapid.T) {
			// A group shrinks, and another one gets its room. Then ledger and records are restored from an earlier backup, and the first one grows
			// again.
			i, j := draw(t, "group", places), draw(t, "other", places)
			m.become(i, drawSpec(t))
			before := m.backup()
			m.become(i, drawSpec(t))
			m.become(j, drawSpec(t))
			m.restore(min(before, m.store.Version()), draw(t, "bump", 2))
			m.become(i, drawSpec(t))
		},
		"lose": func(t *rapid.T) {
			// A user deletes one ledger, or all. Watches and caches get the time to report it.
			keys := slices.Sorted(maps.Keys(m.store.Stored()))
			if n := draw(t, "ledger", len(keys)+1); n < len(keys) {
				m.store.Lose(keys[n])
			} else {
				m.store.Lose()
			}
			for _, r := range m.replicas {
				r.sync()
				r.news = nil
				m.store.Tell(r.ledger.Observe)
			}
		},
		"collect": func(t *rapid.T) {
			// The leader removes unused ledgers.
			m.now = m.now.Add(30 * time.Second)
			r := m.replicas[draw(t, "replica", 3)]
			m.spread(func() { r.ledger.Collect(t.Context()) })
		},
		"together": func(t *rapid.T) {
			// Another replica does so at the same time.
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

// A model is at rest if nothing happens in quietRounds. Fewer are not enough: in one round the leader misses a deleted group, in the next it
// lowers its entry, and in the third that is written. A step is longer than the leader waits for clones of such a group.
const (
	quietRounds, mostRounds = 4, 40
	step                    = 12 * time.Minute
)

// settle waits until the model is at rest, and checks that the grants fill the room. Groups are reconciled only for a reason.
func (m *model) settle() {
	m.fault, m.between = quotatest.None, nil
	for n := range m.replicas {
		m.replicas[n] = m.newReplica()
	}
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
			m.store.Tell(r.ledger.Observe)
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
	m.settleKept(entries)
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
		_, granted := m.recorded(i, o)
		if answer := r.ledger.Ask(m.t.Context(), quota.Claim{
			Group: quota.Group{UID: m.uid(i), Name: "g", Requester: place(i), Holds: o.holds(), Granted: granted},
			Spec:  o.spec, Wants: policy.UsageOf(o.spec), Epoch: v1alpha1.Epoch{Generation: 1, Number: m.epoch[i]},
		}); answer.Outcome != quota.Refused || len(answer.Violations) == 0 {
			m.t.Fatalf("group %d is held without a reason: %+v", i, answer)
		}
	}
	if len(entries) > 0 {
		m.t.Fatalf("deleted groups are still charged: %+v", entries)
	}
}
