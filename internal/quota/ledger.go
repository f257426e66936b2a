package quota

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// Lister is what the ledger asks about groups and policies. Every method reads memory.
type Lister interface {
	// Policies returns the compiled policies, false while they have not been read.
	Policies(ctx context.Context) (*policy.Set, bool)
	// Groups returns all groups of all members that are served. It fails rather than leave one out.
	Groups(ctx context.Context) ([]Group, error)
	// Served reports whether all groups of a member are known.
	Served(member string) bool
	// Members returns the names of all members that there are, served or not.
	Members(ctx context.Context) ([]string, error)
}

// Options of a Ledger. All fields but Leading and Absent are required.
type Options struct {
	Store  Store
	Lister Lister
	// Notify is told of groups whose Answer has changed. It must not block.
	Notify func(Key)
	// Now is the clock.
	Now func() time.Time
	// Leading says whether this replica collects the entries of groups that are gone; nil means never.
	Leading func() bool
	// Absent reads afresh whether a group does not exist in a member that is served, and nothing of it is left.
	Absent func(ctx context.Context, id Key, namespace, name string) (bool, error)
}

// Ledger is a replica's view of what was granted. It is safe for concurrent use. It is a Runnable of the manager; before
// it is started every claim waits.
type Ledger struct {
	opts Options
	wake chan struct{}

	mu     sync.Mutex
	stored Stored
	totals map[string]policy.Usage
	// read is true once the ledger was read; known is false before that, and after a write whose outcome nobody knows.
	read, known bool
	// failure says why the ledger cannot be read or written, or is empty.
	failure string
	// claims and lowers wait for the next write, claims in the order of their coming; flying are those of the one under
	// way, with what they ask for or lower to.
	claims []Claim
	lowers map[Key]giveBack
	flying map[Key]policy.Usage
	// refused are the groups that want more than there is, unsure those that asked for their surplus while nobody knew.
	refused, unsure map[Key]struct{}
	// problems are why claims could not be judged when they were written.
	problems map[Key]problem
	absent   map[Key]time.Time
	// foreign are the groups whose entry somebody else changed after this replica had claimed it. It may be an entry of long ago, from
	// a backup, and grants nothing before it is claimed again.
	foreign map[Key]struct{}
	// behind is since when the watch tells of older versions than are known, or zero.
	behind time.Time
}

type problem struct {
	words string
	since time.Time
}

// problemLasts is how long a claim that could not be written for a reason of its own is not tried again.
const problemLasts = 20 * time.Second

// catchesUp is how long a watch may tell of older versions than this replica has read or written. After that they are not late news: the
// hub's storage has gone back.
const catchesUp = 20 * time.Second

// New returns a ledger that knows nothing yet.
func New(opts Options) *Ledger {
	return &Ledger{
		opts: opts, wake: make(chan struct{}, 1),
		lowers: map[Key]giveBack{}, flying: map[Key]policy.Usage{},
		refused: map[Key]struct{}{}, unsure: map[Key]struct{}{}, problems: map[Key]problem{}, absent: map[Key]time.Time{},
		foreign: map[Key]struct{}{},
	}
}

// Ask claims what a group's spec needs beyond what it holds. It reads memory and never blocks: a claim that needs a
// write is Waiting, and the group is notified. The holder of the group asks again in each pass; what was granted stays
// granted, and costs nothing.
//
// A group that asks for no more than it holds is always granted.
func (l *Ledger) Ask(ctx context.Context, c Claim) Answer {
	set, ok := l.opts.Lister.Policies(ctx)
	if !ok {
		if c.grows() {
			return Answer{Outcome: Unavailable, Problem: "The VmGroupPolicies on the hub have not been read yet"}
		}
		return Answer{}
	}
	quotas := set.Quotas(c.Requester)
	var f facts
	enforced := slices.ContainsFunc(quotas, (*policy.Policy).Enforced)
	if enforced && c.grows() {
		members, err := l.opts.Lister.Members(ctx)
		if err != nil {
			return Answer{Outcome: Unavailable, Problem: "The MemberClusters on the hub cannot be read: " + err.Error()}
		}
		f = facts{set: set, served: l.opts.Lister.Served, members: members}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	entry, entered := l.stored.State.Entries[c.Key()]
	if len(quotas) == 0 {
		l.forget(c.Key())
		if entered && l.known {
			l.lower(c.Key(), giveBack{epoch: c.Epoch})
		}
		return Answer{}
	}
	keys := keysOf(quotas, c.Requester)
	current := entered && l.known && slices.Equal(entry.Keys, keys)
	if !c.grows() {
		delete(l.refused, c.Key())
		if c.Holds.Groups > 0 && l.known && (!current || !entry.Usage.Covers(c.Holds)) {
			l.enqueue(c)
		}
		return Answer{}
	}
	if !enforced {
		// Nothing is held, so nothing has to be written first: what the group gets is entered once it has it.
		l.forget(c.Key())
		return evaluate(f, l.stored.State, l.totals, c, quotas)
	}
	return l.askMore(f, c, quotas, current && l.granted(c, entry))
}

// granted reports whether this holder of the group was granted what it asks for, with this entry.
func (l *Ledger) granted(c Claim, e Entry) bool {
	_, foreign := l.foreign[c.Key()]
	return !foreign && !e.Doubted && e.Epoch == c.Epoch && e.Usage.Covers(c.Wants)
}

// askMore answers a claim that grows. covered says whether its holder was granted it before.
func (l *Ledger) askMore(f facts, c Claim, quotas []*policy.Policy, covered bool) Answer {
	want := c.Wants
	lower, lowering := l.lowers[c.Key()]
	flight, flying := l.flying[c.Key()]
	if covered && (!lowering || lower.to.Covers(want)) && (!flying || flight.Covers(want)) {
		l.forget(c.Key())
		// What is given back meanwhile leaves enough. Of policies that warn there may be something to say.
		return evaluate(f, l.stored.State, l.totals, c, quotas)
	}
	if l.known && !flying {
		// What memory refuses a fresh ledger would refuse as well, or its change will be told. That costs no call.
		if answer := evaluate(f, l.stored.State, l.totals, c, quotas); answer.Outcome != Granted {
			l.forget(c.Key())
			l.refused[c.Key()] = struct{}{}
			return answer
		}
	}
	if p, ok := l.problems[c.Key()]; ok && l.opts.Now().Sub(p.since) < problemLasts {
		return Answer{Outcome: Unavailable, Problem: p.words}
	}
	if !flying || flight != want {
		delete(l.lowers, c.Key())
		l.enqueue(c)
	}
	if l.failure != "" {
		return Answer{Outcome: Unavailable, Problem: l.failure}
	}
	return Answer{Outcome: Waiting}
}

// Surplus reports whether the ledger holds more for a group than it needs, and what that is, so that the holder has
// something to [Ledger.GiveBack]. What was granted for what the group wants and is not admitted yet is needed, unless the grant is doubted.
// While nobody knows, there is none; the group is notified once it is known.
func (l *Ledger) Surplus(id Key, holds, wants policy.Usage) (needs policy.Usage, some bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, ok := l.stored.State.Entries[id]
	needs = holds
	if e.Usage.Covers(wants) && !e.Doubted {
		needs = needs.Max(wants)
	}
	_, flying := l.flying[id]
	if !l.known || flying || slices.ContainsFunc(l.claims, func(c Claim) bool { return c.Key() == id }) {
		l.unsure[id] = struct{}{}
		return needs, false
	}
	return needs, ok && !needs.Covers(e.Usage)
}

// GiveBack lowers what a group was granted to what it needs; nothing removes it. Only the holder of the group may call it,
// in a pass of the group, and only after the API server, not a cache, has said that the group needs no more.
func (l *Ledger) GiveBack(id Key, needs policy.Usage, epoch v1alpha1.Epoch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.stored.State.Entries[id]; !ok && l.known {
		l.forget(id)
		return
	}
	l.claims = slices.DeleteFunc(l.claims, func(c Claim) bool { return c.Key() == id })
	l.lower(id, giveBack{to: needs, epoch: epoch})
}

// Forget drops the claim of a group that is not this replica's any more. What it was granted stays.
func (l *Ledger) Forget(id Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(id)
	delete(l.unsure, id)
	delete(l.foreign, id)
}

// Check says from memory what quotas would refuse of a group that becomes next; old is nil for one that is created. It
// is for admission, where it is advice: two that ask at the same time can both pass, and the reconciler holds one.
func (l *Ledger) Check(ctx context.Context, r policy.Requester, old, next *v1alpha1.VmGroup) []policy.Violation {
	set, ok := l.opts.Lister.Policies(ctx)
	if !ok {
		return nil
	}
	quotas := set.Quotas(r)
	if len(quotas) == 0 {
		return nil
	}
	id := Key{r.Member, next.UID}
	var granted policy.Usage
	if old != nil {
		granted = policy.UsageOf(old.Spec)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if e, ok := l.stored.State.Entries[id]; ok {
		granted = granted.Max(e.Usage)
	}
	var violations []policy.Violation
	for _, p := range quotas {
		used := usedByOthers(l.stored.State, l.totals, keyOf(p, r), id)
		violations = append(violations, p.CheckQuota(r, next.Name, next.Spec, policy.UsageOf(next.Spec), granted, used)...)
	}
	return violations
}

// Observe takes what a watch of the Store tells. What is older than what is known already is dropped, as late news; if nothing newer
// follows, [Ledger.Collect] has the ledger read afresh.
func (l *Ledger) Observe(s Stored) {
	l.mu.Lock()
	var notify []Key
	order, err := resourceversion.CompareResourceVersion(s.Seen, l.stored.Seen)
	switch {
	case l.stored.Seen == "" || err != nil || order >= 0:
		if notify = l.learn(s); l.known {
			notify = append(notify, drained(l.unsure)...)
		}
	case l.behind.IsZero():
		l.behind = l.opts.Now()
	}
	l.mu.Unlock()
	l.tell(notify)
}

// learn takes what was read, and returns the groups that may get another answer now. Those whose entries are not as they were, by
// another replica or by a person, are among them: their holders enter what they hold, or give back what they do not.
func (l *Ledger) learn(s Stored) []Key {
	was, first := l.stored.State.Entries, !l.read
	notify := l.take(s)
	if first {
		return notify // who asked before the first reading is unsure
	}
	for _, id := range changed(was, l.stored.State.Entries) {
		l.foreign[id] = struct{}{}
		notify = append(notify, id)
	}
	return notify
}

// changed are the groups whose entries are not as they were.
func changed(was, is map[Key]Entry) (ids []Key) {
	for id, e := range was {
		if now, ok := is[id]; !ok || now.Usage != e.Usage || now.Doubted != e.Doubted {
			ids = append(ids, id)
		}
	}
	for id := range is {
		if _, ok := was[id]; !ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// take makes s what is known, and returns the groups that may get another answer now.
func (l *Ledger) take(s Stored) []Key {
	if s.Err != nil {
		l.known, l.failure = false, s.Err.Error()
		return nil
	}
	l.failure, l.behind = "", time.Time{}
	before, after := l.totals, totals(s.State)
	room := lessUsed(before, after) || !maps.EqualFunc(s.State.Counted, l.stored.State.Counted, slices.Equal[[]string])
	l.stored, l.read, l.known, l.totals = s, true, true, after
	if !room {
		return nil
	}
	return drained(l.refused)
}

// overtaken reports whether a watch has told of a later version than this one.
func (l *Ledger) overtaken(version string) bool {
	order, err := resourceversion.CompareResourceVersion(l.stored.Seen, version)
	return l.known && err == nil && order > 0
}

// drained empties a set and returns what was in it.
func drained(set map[Key]struct{}) []Key {
	ids := slices.Collect(maps.Keys(set))
	clear(set)
	return ids
}

// lessUsed reports whether any total has fallen.
func lessUsed(before, after map[string]policy.Usage) bool {
	for key, was := range before {
		if !after[key].Covers(was) {
			return true
		}
	}
	return false
}

func (l *Ledger) tell(ids []Key) {
	for _, id := range ids {
		l.opts.Notify(id)
	}
}

func (l *Ledger) enqueue(c Claim) {
	l.claims = append(slices.DeleteFunc(l.claims, func(o Claim) bool { return o.Key() == c.Key() }), c)
	l.signal()
}

func (l *Ledger) lower(id Key, g giveBack) {
	l.lowers[id] = g
	l.signal()
}

func (l *Ledger) forget(id Key) {
	l.claims = slices.DeleteFunc(l.claims, func(c Claim) bool { return c.Key() == id })
	delete(l.refused, id)
	delete(l.problems, id)
}

func (l *Ledger) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}
