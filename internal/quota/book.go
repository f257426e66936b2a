package quota

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// book is a replica's view of one ledger: that of a total, or the head. The lock of the Ledger guards it.
type book struct {
	// key of the total, or "" for the head.
	key string
	// of describes the total for users.
	of string
	// policy is the name of the total's policy, or empty until it is needed.
	policy string
	// where lists the books with entries of a group.
	where map[Key][]*book
	// dirty is set for the Ledger when work is due.
	dirty *bool

	// raw is the stored ledger. stored is the part of it that counts.
	raw, stored Stored
	totals      map[string]policy.Usage
	// read is true once the ledger was read. known is false before that, and after a write with an unknown result.
	read, known bool
	// failure explains why the ledger cannot be read or written, or is empty. failing is since when its rounds fail, or zero.
	failure string
	failing time.Time
	// due is true if work waits for the next round. resting is true while the book waits after a failure, each time longer.
	due, resting bool
	pause        wait.Backoff
	// claims and lowers wait for the next write, claims in order of arrival. flying has those of the current write, with the usage that they ask for
	// or lower to.
	claims []Claim
	lowers map[Key]giveBack
	flying map[Key]policy.Usage
	// refused are the groups that want more than is available. unsure are those that asked for their surplus while it was unknown.
	refused, unsure map[Key]struct{}
	// short are the groups that have what their specs need, and would get more VMs for an update if there was room.
	short map[Key]struct{}
	// problems explain why claims could not be checked when they were written.
	problems map[Key]problem
	// foreign are the groups whose entry another writer changed after this replica had claimed it. The entry can be an old one from a backup. It
	// grants nothing until the group claims again.
	foreign map[Key]struct{}
	// delays are the times until which the budgets of members delay the ledger. wakes is the time of the next check for that, or zero.
	delays map[string]time.Time
	wakes  time.Time
	// behind is the time since when the watch reports older versions than the known one, or zero.
	behind time.Time
	// unneeded is since when the book can be dropped, or zero.
	unneeded time.Time
}

// spare reports whether nothing is lost with the book: its ledger does not exist, and no group waits for it.
func (b *book) spare() bool {
	return b.known && b.raw.Version == "" && b.stored.State.empty() && !b.due && !b.resting && b.behind.IsZero() &&
		len(b.claims)+len(b.lowers)+len(b.flying)+len(b.refused)+len(b.unsure)+len(b.short)+len(b.problems) == 0
}

type problem struct {
	words string
	since time.Time
}

// problemLasts is how long a claim is not retried that could not be written for a reason of its own.
const problemLasts = 20 * time.Second

// catchesUp is how long a watch can report older versions than this replica has read or written. After that time the events are not just late: the
// hub's storage was restored to an older state.
const catchesUp = 20 * time.Second

func newBook(key string, where map[Key][]*book, dirty *bool) *book {
	return &book{
		key: key, where: where, dirty: dirty, pause: retry, lowers: map[Key]giveBack{}, flying: map[Key]policy.Usage{},
		refused: map[Key]struct{}{}, unsure: map[Key]struct{}{}, short: map[Key]struct{}{}, problems: map[Key]problem{}, foreign: map[Key]struct{}{}, delays: map[string]time.Time{},
	}
}

// entry returns the entry of a group that counts.
func (b *book) entry(id Key) (Entry, bool) { return b.stored.State.entry(id) }

// keep enters the usage of a group that asks for nothing more.
func (b *book) keep(c Claim, quotas []*policy.Policy) {
	delete(b.refused, c.Key())
	if c.Holds.Groups == 0 {
		return
	}
	e, entered := b.entry(c.Key())
	if !b.read || b.known && (!entered || !slices.Equal(e.Keys, keysOf(quotas, c.Requester)) || !e.Usage.Covers(c.Holds) || !e.granted().Covers(c.Granted)) {
		b.enqueue(c)
	}
}

// count enters the usage of a group whose claim is refused: existing VMs count, granted or not.
func (s seat) count(c Claim) {
	c.Wants, c.Surges = c.Granted, nil
	s.keep(c, s.quotas)
}

// granted reports whether this holder of the group already has the grant that it asks for, and keeps it.
func (b *book) granted(c Claim, quotas []*policy.Policy) bool {
	e, entered := b.entry(c.Key())
	if !entered || !b.known || !slices.Equal(e.Keys, keysOf(quotas, c.Requester)) {
		return false
	}
	_, foreign := b.foreign[c.Key()]
	lower, lowering := b.lowers[c.Key()]
	flight, flying := b.flying[c.Key()]
	// A give-back in progress leaves enough.
	return !foreign && !e.Doubted && e.Epoch == c.Epoch && e.granted().Covers(c.Wants) &&
		(!lowering || lower.to.Covers(c.Wants)) && (!flying || flight.Covers(c.Wants))
}

// evaluate returns from memory the result that a claim would have.
func (b *book) evaluate(f facts, c Claim, quotas []*policy.Policy) Answer {
	return evaluate(f, &b.stored.State, b.totals, c, quotas)
}

// certain reports whether memory can refuse a claim: a fresh read would refuse it as well, or a watch event follows its change. This costs no call.
func (b *book) certain(id Key) bool {
	_, flying := b.flying[id]
	return b.known && !flying
}

// claim leaves a claim to the next write.
func (b *book) claim(c Claim, now time.Time) Answer {
	if p, ok := b.problems[c.Key()]; ok && now.Sub(p.since) < problemLasts {
		return Answer{Outcome: Unavailable, Problem: p.words}
	}
	if flight, flying := b.flying[c.Key()]; !flying || flight != c.Wants {
		delete(b.lowers, c.Key())
		b.enqueue(c)
	}
	if b.failure != "" {
		return Answer{Outcome: Unavailable, Problem: b.failure}
	}
	return Answer{Outcome: Waiting, Wait: b.delay(c.Requester.Member, now)}
}

// unsettled reports whether the group's entry here is unknown or about to change.
func (b *book) unsettled(id Key) bool {
	_, flying := b.flying[id]
	return !b.known || flying || slices.ContainsFunc(b.claims, func(c Claim) bool { return c.Key() == id })
}

// looksAgain reports whether a refused group must be reconciled again at once: its entry here is larger than its holdings, and none of that is being
// given back. If a give-back down to its previous wish is waiting, the group is reconciled once that is written.
func (b *book) looksAgain(c Claim) bool {
	e, entered := b.entry(c.Key())
	if !entered || c.Holds.Covers(e.Usage) {
		return false
	}
	lower, lowering := b.lowers[c.Key()]
	if lowering && !c.Holds.Covers(lower.to) {
		b.unsure[c.Key()] = struct{}{}
	}
	return !lowering
}

func (b *book) enqueue(c Claim) {
	b.claims = append(slices.DeleteFunc(b.claims, func(o Claim) bool { return o.Key() == c.Key() }), c)
	b.want()
}

func (b *book) lower(id Key, g giveBack) {
	b.lowers[id] = g
	b.want()
}

// want schedules the book for the next round.
func (b *book) want() { b.due, *b.dirty = true, true }

func (b *book) forget(id Key) {
	b.claims = slices.DeleteFunc(b.claims, func(c Claim) bool { return c.Key() == id })
	delete(b.refused, id)
	delete(b.short, id)
	delete(b.problems, id)
}

// observe processes a watch event, and returns the groups that can get another answer now. An event that is older than the known version is dropped
// as late. If no newer event follows, [Ledger.Collect] has the ledger read afresh.
func (b *book) observe(s Stored, set string, now time.Time) (notify []Key) {
	order, err := resourceversion.CompareResourceVersion(s.Seen, b.raw.Seen)
	switch {
	case b.raw.Seen == "" || err != nil || order >= 0:
		if notify = b.learn(s, set); b.known {
			notify = append(notify, drained(b.unsure)...)
		}
	case b.behind.IsZero():
		b.behind = now
	}
	return notify
}

// learn processes a read ledger, and returns the groups that can get another answer now. These include groups whose entries another replica or a
// person changed: their holders enter their holdings, or give back the rest.
func (b *book) learn(s Stored, set string) []Key {
	first := !b.read
	notify, others := b.take(s, set)
	if first {
		return notify // groups that asked before the first read are unsure
	}
	for _, id := range others {
		b.foreign[id] = struct{}{}
	}
	return append(notify, others...)
}

// take makes s the known ledger. It returns the groups that can get another answer now, and those whose entries changed. Entries from another set of
// ledgers do not count, and are replaced.
func (b *book) take(s Stored, set string) (notify, others []Key) {
	b.raw = s
	if s.Err != nil {
		b.known, b.failure = false, s.Err.Error()
		return nil, nil
	}
	if b.key != "" && s.State.Set != set {
		s.State = State{}
	}
	b.failure, b.behind = "", time.Time{}
	others = changed(&b.stored.State, &s.State)
	room := anyLess(&b.stored.State, &s.State, others) || !maps.EqualFunc(s.State.Counted, b.stored.State.Counted, slices.Equal[[]string])
	b.stored, b.read, b.known, b.totals = s, true, true, totals(&s.State)
	for _, id := range others {
		_, entered := s.State.entry(id)
		b.index(id, entered)
	}
	if !room {
		return nil, others
	}
	return append(drained(b.refused), drained(b.short)...), others
}

// index records whether a group has an entry here.
func (b *book) index(id Key, entered bool) {
	others := slices.DeleteFunc(slices.Clone(b.where[id]), func(o *book) bool { return o == b })
	if entered {
		others = append(others, b)
	}
	if b.where[id] = others; len(others) == 0 {
		delete(b.where, id)
	}
}

// overtaken reports whether a watch has reported a later version than this one.
func (b *book) overtaken(version string) bool {
	order, err := resourceversion.CompareResourceVersion(b.raw.Seen, version)
	return b.known && err == nil && order > 0
}

// drained empties a set and returns its elements.
func drained(set map[Key]struct{}) []Key {
	ids := slices.Collect(maps.Keys(set))
	clear(set)
	return ids
}

// anyLess reports whether any of these groups has less than before. The total alone does not show this: the entry of a refused group can rise in the
// same write in which another entry falls.
func anyLess(was, is *State, ids []Key) bool {
	return slices.ContainsFunc(ids, func(id Key) bool {
		before, _ := was.entry(id)
		after, _ := is.entry(id)
		return !after.Usage.Covers(before.Usage)
	})
}
