package quota

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// requestTimeout bounds one request to the hub.
	requestTimeout = 5 * time.Second
	// conflicts is how often in a row another replica may be first before the claims wait for a moment.
	conflicts = 10
	// width is how many ledgers are written at the same time.
	width = 8
)

// retry is the pause after a failure.
var retry = wait.Backoff{Duration: 250 * time.Millisecond, Factor: 2, Cap: 10 * time.Second, Steps: math.MaxInt}

// errMoved means that other ledgers count now.
var errMoved = errors.New("other ledgers of quotas count now")

// batch is what one write is to do.
type batch struct {
	claims []Claim
	lowers map[Key]giveBack
}

// Start implements manager.Runnable: it watches the ledgers, and writes what was claimed, until ctx ends.
func (l *Ledger) Start(ctx context.Context) error {
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() { l.opts.Store.Watch(ctx, l.Observe) })
	collect := time.NewTicker(collectInterval)
	defer collect.Stop()
	l.mu.Lock()
	l.head.want() // the first round reads which ledgers count
	l.signal()
	l.mu.Unlock()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-collect.C:
			l.Collect(ctx)
		case <-l.wake:
			// Each ledger that failed is tried again by itself.
			l.mu.Lock()
			rests := l.head.resting && !l.head.known
			l.mu.Unlock()
			if !rests {
				_ = l.round(ctx, width, l.rest)
			}
		}
	}
}

// rest lets a ledger wait for a moment after a failure, ever longer. Others are not delayed.
func (l *Ledger) rest(b *book) {
	b.resting = true
	time.AfterFunc(b.pause.Step(), func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		b.resting = false
		b.want()
		l.signal()
	})
}

// Flush answers everything that waits now, as [Ledger.Start] does when something comes.
func (l *Ledger) Flush(ctx context.Context) error {
	l.mu.Lock()
	l.head.want()
	l.mu.Unlock()
	return l.round(ctx, 1, func(*book) {})
}

// task is what one round does for one ledger.
type task struct {
	*book
	work batch
	// current is what was stored when the groups were looked at, of the ledgers of set.
	current Stored
	set     string
	err     error
}

// round answers everything that waits, with one write of each ledger that needs one. What fails waits still, and goes to failed.
func (l *Ledger) round(ctx context.Context, width int, failed func(*book)) error {
	if err := l.settle(ctx); err != nil {
		l.mu.Lock()
		notify := l.fail(ctx, l.head, batch{}, err)
		for _, c := range l.pending {
			notify = append(notify, c.Key())
		}
		failed(l.head)
		l.mu.Unlock()
		l.tell(notify)
		return err
	}
	l.route(ctx)
	due := l.due()
	// All ledgers are read before the groups are looked at once: what was given back since would look as if it were missing in them.
	each(due, width, func(t *task) { t.err = l.read(ctx, t) })
	var found *survey
	var blind error
	if slices.ContainsFunc(due, func(t *task) bool { return !t.work.empty() }) {
		found, blind = l.survey(ctx)
	}
	each(due, width, func(t *task) {
		if t.err == nil && !t.work.empty() {
			t.err = blind
		}
		if t.err == nil {
			t.err = l.carryOut(ctx, t, found)
		}
		l.mu.Lock()
		var notify []Key
		if t.err == nil {
			t.pause = retry
		} else {
			notify = l.fail(ctx, t.book, t.work, t.err)
			failed(t.book)
		}
		l.mu.Unlock()
		l.tell(notify)
	})
	errs := make([]error, 0, len(due))
	for _, t := range due {
		errs = append(errs, t.err)
	}
	return errors.Join(errs...)
}

// each calls do for all of them, some at a time.
func each(tasks []*task, width int, do func(*task)) {
	if width == 1 {
		for _, t := range tasks {
			do(t)
		}
		return
	}
	var running sync.WaitGroup
	places := make(chan struct{}, width)
	for _, t := range tasks {
		places <- struct{}{}
		running.Go(func() {
			defer func() { <-places }()
			do(t)
		})
	}
	running.Wait()
}

// settle finds out which ledgers count, and makes the first one if there is none.
func (l *Ledger) settle(ctx context.Context) error {
	for range conflicts {
		l.mu.Lock()
		known, settled, waiting := l.head.known, l.settled(), len(l.pending)+len(l.later) > 0
		l.mu.Unlock()
		switch {
		case known && (settled || !waiting):
			return nil
		case known:
			writes.Inc()
			if err := l.mark(ctx, ""); err != nil && !errors.Is(err, ErrConflict) {
				return err
			}
		}
		l.mu.Lock()
		l.head.known = false
		l.mu.Unlock()
		if err := l.read(ctx, &task{book: l.head}); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w, %d times in a row", ErrConflict, conflicts)
}

// route brings to their ledgers what waited until it was known which ones count.
func (l *Ledger) route(ctx context.Context) {
	l.mu.Lock()
	if !l.settled() {
		l.mu.Unlock()
		return
	}
	claims := l.pending
	l.pending = nil
	for id, back := range l.later {
		for _, key := range back.keys {
			if b := l.book(key); l.set != "" && !b.known {
				b.lower(id, back)
			}
		}
		l.lower(id, back)
	}
	clear(l.later)
	l.mu.Unlock()
	for _, c := range claims {
		if answer := l.Ask(ctx, c); answer.Outcome != Waiting && c.grows() {
			l.opts.Notify(c.Key())
		}
	}
}

// due are the ledgers at which something waits, in order, with that.
func (l *Ledger) due() (due []*task) {
	l.mu.Lock()
	defer l.mu.Unlock()
	*l.dirty = false
	for _, b := range append(slices.Collect(maps.Values(l.books)), l.head) {
		if b.due && !b.resting && (l.set != "" || b == l.head) {
			b.due = false
			due = append(due, &task{book: b, work: b.next()})
		}
	}
	slices.SortFunc(due, func(a, b *task) int { return cmp.Compare(a.key, b.key) })
	return due
}

// fail lets all of a batch wait still, and returns the groups to tell.
func (l *Ledger) fail(ctx context.Context, b *book, work batch, err error) (notify []Key) {
	log.FromContext(ctx).Info("The ledger of quotas cannot be written; nothing that a quota holds for grows",
		"ledger", nameOf(b.key), "claims", len(work.claims), "reason", err.Error())
	b.known = false // nobody knows what became of the write
	b.failure = "The ledger of quotas on the hub cannot be written: " + err.Error()
	b.want()
	*l.dirty = false // it is tried again after a pause
	clear(b.flying)
	for _, c := range work.claims {
		notify = append(notify, c.Key())
	}
	if b == l.head && l.set != "" {
		l.putOff(work)
		return notify
	}
	newer := map[Key]bool{}
	for _, c := range b.claims {
		newer[c.Key()] = true
	}
	again := slices.DeleteFunc(slices.Clone(work.claims), func(c Claim) bool { return newer[c.Key()] })
	b.claims = append(again, b.claims...)
	for id, g := range work.lowers {
		if _, ok := b.lowers[id]; !ok && !newer[id] {
			b.lowers[id] = g
		}
	}
	return notify
}

func (w batch) empty() bool { return len(w.claims)+len(w.lowers) == 0 }

// next takes everything that waits.
func (b *book) next() batch {
	work := batch{claims: b.claims, lowers: b.lowers}
	b.claims, b.lowers = nil, map[Key]giveBack{}
	for id, g := range work.lowers {
		b.flying[id] = g.to
	}
	for _, c := range work.claims {
		b.flying[c.Key()] = c.Wants
	}
	return work
}

// carryOut does what waits for one ledger. The groups were found before, if there is anything to decide.
func (l *Ledger) carryOut(ctx context.Context, t *task, found *survey) error {
	b, work := t.book, t.work
	for range conflicts {
		current, set := t.current, t.set
		moved := b == l.head && (set != "" || current.Format == 0 && !l.opts.Older())
		if moved || work.empty() {
			l.mu.Lock()
			clear(b.flying)
			notify := drained(b.unsure)
			if !work.empty() {
				l.putOff(work)
				l.signal()
			}
			l.mu.Unlock()
			l.tell(notify)
			return nil
		}
		f, groups := found.of(b.key)
		d, answers := decide(current, f, groups, work, true)
		if b != l.head {
			d.state.Set, d.state.Of = set, orElse(d.state.Of, b.of)
		}
		version, err := l.write(ctx, b.key, d, current.Version)
		if errors.Is(err, ErrFull) {
			// What shrinks or was entered before still fits.
			full := err
			d, answers = decide(current, f, groups, work, false)
			if b != l.head {
				d.state.Set, d.state.Of = set, orElse(d.state.Of, b.of)
			}
			for id := range answers {
				answers[id] = Answer{Outcome: Unavailable, Problem: full.Error()}
			}
			version, err = l.write(ctx, b.key, d, current.Version)
		}
		if err == nil && b != l.head && len(work.claims) > 0 {
			err = l.confirm(ctx, set)
		}
		switch {
		case err == nil:
			l.answer(b, d, version, work, answers)
			return nil
		case !errors.Is(err, ErrConflict):
			return err
		}
		l.mu.Lock()
		b.known = false
		l.mu.Unlock()
		if err := l.read(ctx, t); err != nil {
			return err
		}
		if found, err = l.survey(ctx); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w, %d times in a row", ErrConflict, conflicts)
}

// read has a ledger known, and what is current: from memory if that is what was written or read last.
func (l *Ledger) read(ctx context.Context, t *task) error {
	b := t.book
	l.mu.Lock()
	known := b.known
	t.current, t.set = b.stored, l.set
	l.mu.Unlock()
	if known {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	s, err := l.opts.Store.Read(ctx, b.key)
	if err != nil {
		return err
	}
	if s.Err != nil {
		return s.Err
	}
	l.mu.Lock()
	var notify []Key
	if !b.overtaken(s.Seen) {
		notify = b.learn(s, l.set)
	}
	if b == l.head {
		notify = append(notify, l.follow()...)
	}
	t.current, t.set = b.stored, l.set
	l.mu.Unlock()
	l.tell(notify)
	return nil
}

// confirm reads whether the ledgers of a set count still. What was granted in one that is left over would be granted twice.
func (l *Ledger) confirm(ctx context.Context, set string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	s, err := l.opts.Store.Read(ctx, "")
	if err == nil {
		err = s.Err
	}
	if err == nil && s.State.Set == set {
		return nil
	}
	l.mu.Lock()
	l.head.known = false
	l.head.want()
	l.mu.Unlock()
	return cmp.Or(err, errMoved)
}

func (l *Ledger) mark(ctx context.Context, version string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return l.opts.Store.Mark(ctx, version)
}

// survey is what is known of all groups and policies at a moment.
type survey struct {
	facts
	// groups are those of each namespace; byTotal the same by the totals that they count in.
	groups  [][]Group
	byTotal func() map[string][][]Group
}

// of returns what matters for one ledger.
func (s *survey) of(key string) (facts, [][]Group) {
	f := s.facts
	if f.key = key; key == "" {
		return f, s.groups
	}
	return f, s.byTotal()[key]
}

// survey looks at all groups that are known, so that none is forgotten in what is granted.
func (l *Ledger) survey(ctx context.Context) (*survey, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	set, ok := l.opts.Lister.Policies(ctx)
	if !ok {
		return nil, errors.New("the VmGroupPolicies on the hub have not been read yet")
	}
	members, err := l.opts.Lister.Members(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the MemberClusters on the hub: %w", err)
	}
	served := map[string]bool{}
	for _, member := range members {
		served[member] = l.opts.Lister.Served(member)
	}
	groups, err := l.opts.Lister.Groups(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the groups of all members: %w", err)
	}
	for _, member := range members {
		// One that came or went meanwhile may have its groups in the list, or not.
		served[member] = served[member] && l.opts.Lister.Served(member)
	}
	return &survey{
		facts:  facts{set: set, members: members, served: func(member string) bool { return served[member] }},
		groups: groups,
		byTotal: sync.OnceValue(func() map[string][][]Group {
			byTotal := map[string][][]Group{}
			for _, of := range groups {
				for _, key := range keysOf(set.Quotas(of[0].Requester), of[0].Requester) {
					byTotal[key] = append(byTotal[key], of)
				}
			}
			return byTotal
		}),
	}, nil
}

// decide is what a write does. It is pure. Without claims only what gives back and what is missing is written.
func decide(current Stored, f facts, groups [][]Group, work batch, claims bool) (*draft, map[Key]Answer) {
	d := newDraft(current.State, f)
	for id, g := range work.lowers {
		d.lower(id, g)
	}
	d.totals = totals(&d.state) // sums that were too large for a number cannot be taken from
	answers := make(map[Key]Answer, len(work.claims))
	if claims {
		d.countAll(groups, work.lowers)
		d.mark()
	}
	for _, growing := range []bool{false, true} { // what is there comes before what is to come
		for _, c := range work.claims {
			switch {
			case c.grows() != growing:
			case claims:
				answers[c.Key()] = d.claim(c)
			default:
				answers[c.Key()] = Answer{}
			}
		}
	}
	d.state.freeze()
	return d, answers
}

func (l *Ledger) write(ctx context.Context, key string, d *draft, version string) (string, error) {
	if !d.changed {
		return version, nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	writes.Inc()
	return l.opts.Store.Write(ctx, key, d.state, version)
}

// answer makes a write known and tells those that it answers.
func (l *Ledger) answer(b *book, d *draft, version string, work batch, answers map[Key]Answer) {
	l.mu.Lock()
	var notify []Key
	if d.changed && (b == l.head || d.state.Set == l.set) && !b.overtaken(version) {
		stored := Stored{State: d.state, Format: formatWhole, Version: version, Seen: version}
		var others []Key
		notify, others = b.take(stored, l.set)
		for _, id := range others {
			if _, asked := b.flying[id]; !asked { // it was counted
				notify = append(notify, id)
			}
		}
	}
	clear(b.flying)
	notify = append(notify, drained(b.unsure)...)
	told := map[Key]bool{}
	for _, id := range notify {
		told[id] = true
	}
	for _, c := range work.claims {
		answer := answers[c.Key()]
		delete(b.problems, c.Key())
		delete(b.foreign, c.Key())
		if answer.Outcome == Unavailable {
			b.problems[c.Key()] = problem{words: answer.Problem, since: l.opts.Now()}
		}
		// A claim that does not grow enters what the group holds. What was entered before, by an old cache, may be more.
		e, _ := d.state.entry(c.Key())
		if !told[c.Key()] && (c.grows() || !c.Holds.Covers(e.Usage)) {
			notify = append(notify, c.Key())
		}
	}
	l.mu.Unlock()
	l.tell(notify)
}
