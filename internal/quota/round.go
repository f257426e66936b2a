package quota

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"
)

// task is the work of one round for one ledger.
type task struct {
	*book
	work batch
	// paid has the bytes that the members of the work pay. wrote is the number of written bytes.
	paid  paid
	wrote int
	// current is the stored ledger at the time of the survey, of the ledgers of set.
	current Stored
	set     string
	err     error
}

// round does all waiting work, with one write of each ledger that needs one. Failed work waits again, and its book is passed to failed.
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
	// All ledgers are read before one survey of the groups: otherwise quota that was given back in between would look like missing entries.
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
		l.pay(t.paid, t.wrote)
		l.mu.Lock()
		var notify []Key
		if t.err == nil {
			t.pause, t.failing = retry, time.Time{}
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

// each calls do for all tasks, some at a time.
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

// settle finds out which ledgers count, and creates the head if there is none.
func (l *Ledger) settle(ctx context.Context) error {
	for range conflicts {
		l.mu.Lock()
		known, settled, waiting := l.head.known, l.settled(), len(l.pending)+len(l.later) > 0
		l.mu.Unlock()
		switch {
		case known && (settled || !waiting):
			return nil
		case known:
			l.opts.Counters.Wrote()
			if err := l.makeHead(ctx); err != nil && !errors.Is(err, ErrConflict) {
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

// route moves work to its ledgers that waited until it was known which ones count.
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
			if b := l.book(key); !b.known {
				b.lower(id, back)
			}
		}
		l.lower(id, back)
	}
	clear(l.later)
	l.mu.Unlock()
	for _, c := range claims {
		if answer := l.Ask(ctx, c); answer.Outcome != Waiting && c.grows() {
			l.opts.Listener.QuotaAnswered(c.Key())
		}
	}
}

// due returns the ledgers with waiting work, in order, with that work.
func (l *Ledger) due() (due []*task) {
	l.mu.Lock()
	defer l.mu.Unlock()
	*l.dirty = false
	for _, b := range append(slices.Collect(maps.Values(l.books)), l.head) {
		if b.due && !b.resting && (l.set != "" || b == l.head) {
			paid, may := l.mayWrite(b)
			if !may {
				continue
			}
			b.due = false
			due = append(due, &task{book: b, work: b.next(), paid: paid})
		}
	}
	slices.SortFunc(due, func(a, b *task) int { return cmp.Compare(a.key, b.key) })
	return due
}

// failsBriefly is the time for which failures of a ledger need no person: a member whose credentials change is not engaged for a moment, so its groups cannot be
// counted.
const failsBriefly = 30 * time.Second

// fail puts all work of a batch back into the queue, and returns the groups to notify.
func (l *Ledger) fail(ctx context.Context, b *book, work batch, err error) (notify []Key) {
	now := l.opts.Now()
	if b.failing.IsZero() {
		b.failing = now
	}
	logged := log.FromContext(ctx).WithValues("ledger", nameOf(b.key), "claims", len(work.claims))
	if now.Sub(b.failing) < failsBriefly {
		logged.Info("The ledger of quotas was not written; trying again", "cause", err.Error())
	} else {
		logged.Error(err, "The ledger of quotas cannot be written; nothing that a quota holds for grows")
	}
	b.known = false // the result of the write is unknown
	b.failure = "The ledger of quotas on the hub cannot be written: " + err.Error()
	b.want()
	*l.dirty = false // the retry comes after a pause
	clear(b.flying)
	for _, c := range work.claims {
		notify = append(notify, c.Key())
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

// read makes a ledger known, and sets the task's current state: from memory if the last read or write is known.
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

func (l *Ledger) makeHead(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return l.opts.Store.MakeHead(ctx)
}
