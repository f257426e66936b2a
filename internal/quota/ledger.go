package quota

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/quota/quotametrics"
	"github.com/codeconnect/vmgroup-operator/internal/sharding"
)

// Lister lists groups and policies for the ledger. Every method reads memory.
type Lister interface {
	// Policies returns the compiled policies, or false while they have not been read.
	Policies(ctx context.Context) (*policy.Set, bool)
	// Groups returns all groups of all served members, those of a namespace together: they have one requester. It fails rather than omit one.
	Groups(ctx context.Context) ([][]Group, error)
	// Remnants returns the existing or recorded usage of groups that Groups does not return: their member is unreachable, or they were deleted.
	Remnants(ctx context.Context) ([]Remnant, error)
	// Served reports whether all groups of a member are known.
	Served(member string) bool
	// Members returns the names of all members, served or not.
	Members(ctx context.Context) ([]string, error)
}

// Listener receives notifications about answers. *observe.Sources implements it.
type Listener interface {
	// QuotaAnswered reports that the Answer to a group has changed. It does not block.
	QuotaAnswered(Key)
}

// Inspector finds the remaining VMs of groups. *observe.Sources implements it.
type Inspector interface {
	// Left reads afresh whether a group does not exist in a served member, and the usage of its remaining VMs. It fails with an [UnseenError] while a
	// vCenter cannot be read. It ends with its context, and is called for several members at a time.
	Left(ctx context.Context, id Key, namespace, name string) (left policy.Usage, gone bool, err error)
}

// Options of a Ledger. All fields but Leader, Budget, Counters and, without a Leader, Inspector are required.
type Options struct {
	Store  Store
	Lister Lister
	// Listener receives notifications about answers.
	Listener Listener
	// Now is the clock.
	Now func() time.Time
	// Leader reports whether this replica collects the entries of deleted groups; nil means never.
	Leader sharding.Leader
	// Inspector is asked before the leader corrects an entry.
	Inspector Inspector
	// Budget limits the writes for each member; nil means no limit.
	Budget Budget
	// Counters count the work of the ledger; nil counts nothing.
	Counters *quotametrics.Counters
}

// Ledger is a replica's view of the grants. It is safe for concurrent use. It is a Runnable of the manager; before it is started, every claim waits.
//
// Each total has its own ledger, and a group has an entry in each ledger that it counts in. The group can follow its spec once all of them cover the
// spec. Claims go to the ledgers one after the other, in the order of their keys. So two groups of which each fits cannot refuse each other in turns.
// If a later ledger refuses, the grants of the earlier ones are surplus, which the holder gives back.
type Ledger struct {
	opts Options
	wake chan struct{}

	mu sync.Mutex
	// head names the ledgers that count. It has no entries.
	head *book
	// books are those of totals, by key.
	books map[string]*book
	// where lists the books with entries of a group. asked lists the books of its last claim.
	where, asked map[Key][]*book
	// dirty is true if work is due and the writer was not woken yet.
	dirty *bool
	// set names the ledgers that count, or is empty while it is unknown.
	set string
	// pending and later wait until it is known which ledgers count.
	pending []Claim
	later   map[Key]giveBack

	// missing has the groups with entries that do not exist, and since when. idle has the unused ledgers. Only [Ledger.collect] uses them, and only
	// [Ledger.askMembers] uses unseen.
	missing map[Key]time.Time
	idle    map[string]unused
	unseen  unseen
	// collected is true after the first call of collect, when all ledgers that existed at the start are known.
	collected bool
}

// seat is a book with the quotas that count in it for a requester.
type seat struct {
	*book
	quotas []*policy.Policy
}

func (s seat) enforced() bool { return slices.ContainsFunc(s.quotas, (*policy.Policy).Enforced) }

// New returns an empty ledger.
func New(opts Options) *Ledger {
	where, dirty := map[Key][]*book{}, new(bool)
	return &Ledger{
		opts: opts, wake: make(chan struct{}, 1), head: newBook("", where, dirty), books: map[string]*book{}, where: where,
		dirty: dirty, asked: map[Key][]*book{}, later: map[Key]giveBack{}, missing: map[Key]time.Time{}, idle: map[string]unused{},
	}
}

// book returns the book of a total, or the head for "".
func (l *Ledger) book(key string) *book {
	if key == "" {
		return l.head
	}
	b := l.books[key]
	if b == nil {
		b = newBook(key, l.where, l.dirty)
		l.books[key] = b
	}
	return b
}

// settled reports whether it is known which ledgers count, and the head exists.
func (l *Ledger) settled() bool {
	return l.head.known && l.head.stored.Version != ""
}

// seats returns the books that a requester's groups count in, in the order of the claims.
func (l *Ledger) seats(quotas []*policy.Policy, r policy.Requester) (seats []seat) {
	for i, p := range quotas {
		s := seat{l.book(keyOf(p, r)), quotas[i : i+1]}
		if s.of == "" {
			s.of = nameOfTotal(p, r)
		}
		seats = append(seats, s)
	}
	slices.SortFunc(seats, func(a, b seat) int { return strings.Compare(a.key, b.key) })
	return seats
}

// of returns the books of a group's entries and of its last claim.
func (l *Ledger) of(id Key) []*book {
	books := slices.Clone(l.asked[id])
	for _, b := range l.where[id] {
		if !slices.Contains(books, b) {
			books = append(books, b)
		}
	}
	return books
}

// Surplus reports whether the ledger holds more for a group than it needs, and returns the need for [Ledger.GiveBack]. A grant for a wish that is not
// admitted yet is needed, unless the grant is doubted or a quota has refused the wish. While the ledgers are unknown, there is no surplus; the group
// is notified once they are known.
func (l *Ledger) Surplus(id Key, holds, wants policy.Usage) (needs policy.Usage, some bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	books, unsure := l.of(id), !l.settled()
	if unsure {
		l.head.unsure[id] = struct{}{}
	}
	vain := false
	for _, b := range books {
		_, refused := b.refused[id]
		e, _ := b.entry(id)
		vain = vain || refused || e.Doubted
		if b.unsettled(id) {
			b.unsure[id], unsure = struct{}{}, true
			if !b.known {
				b.want()
			}
		}
	}
	if needs = holds; !vain {
		needs = needs.Max(wants)
	}
	if unsure {
		l.signal()
		return needs, false
	}
	return needs, slices.ContainsFunc(books, func(b *book) bool {
		e, entered := b.entry(id)
		return entered && !needs.Covers(e.Usage)
	})
}

// GiveBack lowers the grant of a group to its need. A zero need removes the grant. Only the holder of the group can call it, in a pass of the group.
// Before the call, a read from the API server, not from a cache, must have shown that the group needs no more. If the grant is doubted, needs beyond
// holds are claimed again.
func (l *Ledger) GiveBack(id Key, holds, needs policy.Usage, epoch v1alpha1.Epoch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.signal()
	back := giveBack{to: needs, epoch: epoch, settles: holds.Covers(needs)}
	l.unpend(id)
	if before, waits := l.later[id]; waits || !l.settled() {
		back.keys = before.keys
		l.later[id] = back
		l.head.want()
		return
	}
	l.lower(id, back)
	if needs.Groups == 0 {
		delete(l.asked, id)
	}
}

// Leave sets the entry of a deleted group to its remaining usage: another group adopted its VMs, which count for that group. Only the group that
// claimed the VMs can call it, after the API server of the member has confirmed the deletion.
func (l *Ledger) Leave(id Key, left policy.Usage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lower(id, giveBack{to: left, gone: true, settles: true})
	l.signal()
}

// lower gives back a group's entries in all books.
func (l *Ledger) lower(id Key, back giveBack) {
	if back.gone {
		delete(l.later, id) // the group no longer gives back itself
	}
	for _, b := range l.of(id) {
		e, entered := b.entry(id)
		if entered && !e.Doubted && (back.to == e.Usage || !back.gone && back.to.Covers(e.Usage)) {
			continue
		}
		b.forget(id)
		if back.keys = e.Keys; entered || !b.known {
			b.lower(id, back)
		}
	}
}

// Forget drops the claim of a group that this replica no longer holds. Its grant stays.
func (l *Ledger) Forget(id Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range append(l.of(id), l.head) {
		b.forget(id)
		delete(b.unsure, id)
		delete(b.foreign, id)
	}
	l.unpend(id)
	delete(l.asked, id)
}

func (l *Ledger) unpend(id Key) {
	l.pending = slices.DeleteFunc(l.pending, func(c Claim) bool { return c.Key() == id })
}

// Observe processes an event of a watch of the Store, for the ledger of a total or the head.
func (l *Ledger) Observe(key string, s Stored) {
	l.mu.Lock()
	b := l.book(key)
	first := !b.read && l.collected
	notify := b.observe(s, l.set, l.opts.Now())
	if first {
		for id := range b.stored.State.all() { // a ledger that is newer than this replica
			notify = append(notify, id)
		}
	}
	if key == "" {
		notify = append(notify, l.follow()...)
	}
	l.signal()
	l.mu.Unlock()
	l.tell(notify)
}

// follow switches to the ledgers that the head names, and returns the groups that can get another answer now. The next round routes the work that
// waits for a write.
func (l *Ledger) follow() (notify []Key) {
	if !l.head.known || l.set == l.head.stored.State.Set {
		return nil
	}
	l.set = l.head.stored.State.Set
	for _, b := range append(slices.Collect(maps.Values(l.books)), l.head) {
		l.putOff(batch{claims: b.claims, lowers: b.lowers})
		b.claims, b.lowers = nil, map[Key]giveBack{}
		notify = append(append(append(notify, drained(b.refused)...), drained(b.short)...), drained(b.unsure)...)
		clear(b.problems)
		// No ledger was read: one whose watch is behind must still be read afresh.
		if known, behind := b.known, b.behind; b.read && b != l.head {
			_, others := b.take(b.raw, l.set)
			if b.known, b.behind = known, behind; l.collected {
				notify = append(notify, others...)
			}
		}
	}
	clear(l.asked)
	slices.SortFunc(notify, compareKeys)
	return slices.Compact(notify)
}

// putOff lets the next round route this work to its ledgers.
func (l *Ledger) putOff(b batch) {
	for _, c := range b.claims {
		if !slices.ContainsFunc(l.pending, func(o Claim) bool { return o.Key() == c.Key() }) {
			l.pending = append(l.pending, c)
		}
	}
	for id, back := range b.lowers {
		if _, newer := l.later[id]; !newer {
			l.later[id] = back
		}
	}
	l.head.want()
}

func (l *Ledger) tell(ids []Key) {
	for _, id := range ids {
		l.opts.Listener.QuotaAnswered(id)
	}
}

// signal wakes the writer if work is due.
func (l *Ledger) signal() {
	if !*l.dirty {
		return
	}
	*l.dirty = false
	select {
	case l.wake <- struct{}{}:
	default:
	}
}
