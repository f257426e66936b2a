package quota

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// book is a replica's view of one ledger: that of a total, or the head. The lock of the Ledger holds for it.
type book struct {
	// key of the total, or "" for the head.
	key string
	// of tells people whose total it is.
	of string
	// policy names the one whose total it is, or is empty before somebody asked.
	policy string
	// where are the books that a group has entries in.
	where map[Key][]*book
	// dirty is set for the Ledger when something is due.
	dirty *bool

	// raw is what is stored. stored is what of it counts.
	raw, stored Stored
	totals      map[string]policy.Usage
	// read is true once the ledger was read; known is false before that, and after a write whose outcome nobody knows.
	read, known bool
	// failure says why the ledger cannot be read or written, or is empty.
	failure string
	// due: something waits for the next round. resting: after a failure it waits for a moment, ever longer.
	due, resting bool
	pause        wait.Backoff
	// claims and lowers wait for the next write, claims in the order of their coming; flying are those of the one under
	// way, with what they ask for or lower to.
	claims []Claim
	lowers map[Key]giveBack
	flying map[Key]policy.Usage
	// refused are the groups that want more than there is, unsure those that asked for their surplus while nobody knew.
	refused, unsure map[Key]struct{}
	// short are the groups that have what their specs need, and would get more VMs for an update if there was room.
	short map[Key]struct{}
	// problems are why claims could not be judged when they were written.
	problems map[Key]problem
	// foreign are the groups whose entry somebody else changed after this replica had claimed it. It may be an entry of long ago, from
	// a backup, and grants nothing before it is claimed again.
	foreign map[Key]struct{}
	// delays are until when the budgets of members have the ledger wait, and wakes is when it is looked at again for that, or zero.
	delays map[string]time.Time
	wakes  time.Time
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

func newBook(key string, where map[Key][]*book, dirty *bool) *book {
	return &book{
		key: key, where: where, dirty: dirty, pause: retry, lowers: map[Key]giveBack{}, flying: map[Key]policy.Usage{},
		refused: map[Key]struct{}{}, unsure: map[Key]struct{}{}, short: map[Key]struct{}{}, problems: map[Key]problem{}, foreign: map[Key]struct{}{}, delays: map[string]time.Time{},
	}
}

// entry returns what counts of a group.
func (b *book) entry(id Key) (Entry, bool) { return b.stored.State.entry(id) }

// keep enters what a group holds that asks for nothing more.
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

// count enters what a group holds whose claim is refused: what exists counts, granted or not.
func (s seat) count(c Claim) {
	c.Wants, c.Surges = c.Granted, nil
	s.keep(c, s.quotas)
}

// granted reports whether this holder of the group was granted what it asks for, and keeps it.
func (b *book) granted(c Claim, quotas []*policy.Policy) bool {
	e, entered := b.entry(c.Key())
	if !entered || !b.known || !slices.Equal(e.Keys, keysOf(quotas, c.Requester)) {
		return false
	}
	_, foreign := b.foreign[c.Key()]
	lower, lowering := b.lowers[c.Key()]
	flight, flying := b.flying[c.Key()]
	// What is given back meanwhile leaves enough.
	return !foreign && !e.Doubted && e.Epoch == c.Epoch && e.granted().Covers(c.Wants) &&
		(!lowering || lower.to.Covers(c.Wants)) && (!flying || flight.Covers(c.Wants))
}

// evaluate says from memory what would become of a claim.
func (b *book) evaluate(f facts, c Claim, quotas []*policy.Policy) Answer {
	return evaluate(f, &b.stored.State, b.totals, c, quotas)
}

// certain reports whether memory can refuse a claim: a fresh ledger would refuse it as well, or its change will be told. That costs no call.
func (b *book) certain(id Key) bool {
	_, flying := b.flying[id]
	return b.known && !flying
}

// claim has the next write decide over a claim.
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

// unsettled reports whether nobody knows what the group has here, or it is about to change.
func (b *book) unsettled(id Key) bool {
	_, flying := b.flying[id]
	return !b.known || flying || slices.ContainsFunc(b.claims, func(c Claim) bool { return c.Key() == id })
}

// looksAgain reports whether a group that is refused has to look again at once: it has more here than it holds, and gives nothing of that back
// yet. While it gives back something, down to what it wanted before it was refused, it looks again once that is written.
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

// want has the next round look at it.
func (b *book) want() { b.due, *b.dirty = true, true }

func (b *book) forget(id Key) {
	b.claims = slices.DeleteFunc(b.claims, func(c Claim) bool { return c.Key() == id })
	delete(b.refused, id)
	delete(b.short, id)
	delete(b.problems, id)
}

// observe takes what a watch tells, and returns the groups that may get another answer now. What is older than what is known already is
// dropped, as late news; if nothing newer follows, [Ledger.Collect] has the ledger read afresh.
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

// learn takes what was read, and returns the groups that may get another answer now. Those whose entries are not as they were, by
// another replica or by a person, are among them: their holders enter what they hold, or give back what they do not.
func (b *book) learn(s Stored, set string) []Key {
	first := !b.read
	notify, others := b.take(s, set)
	if first {
		return notify // who asked before the first reading is unsure
	}
	for _, id := range others {
		b.foreign[id] = struct{}{}
	}
	return append(notify, others...)
}

// take makes s what is known. It returns the groups that may get another answer now, and those whose entries are not as they were. What
// is left over from another set of ledgers does not count, and is replaced.
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

// index notes whether a group has an entry here.
func (b *book) index(id Key, entered bool) {
	others := slices.DeleteFunc(slices.Clone(b.where[id]), func(o *book) bool { return o == b })
	if entered {
		others = append(others, b)
	}
	if b.where[id] = others; len(others) == 0 {
		delete(b.where, id)
	}
}

// overtaken reports whether a watch has told of a later version than this one.
func (b *book) overtaken(version string) bool {
	order, err := resourceversion.CompareResourceVersion(b.raw.Seen, version)
	return b.known && err == nil && order > 0
}

// drained empties a set and returns what was in it.
func drained(set map[Key]struct{}) []Key {
	ids := slices.Collect(maps.Keys(set))
	clear(set)
	return ids
}

// anyLess reports whether any of these groups has less than before. A total can be as high as before, or higher: the
// entry of a group that is refused can rise in the same write in which another one falls.
func anyLess(was, is *State, ids []Key) bool {
	return slices.ContainsFunc(ids, func(id Key) bool {
		before, _ := was.entry(id)
		after, _ := is.entry(id)
		return !after.Usage.Covers(before.Usage)
	})
}
