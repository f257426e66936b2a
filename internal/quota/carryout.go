package quota

import (
	"cmp"
	"context"
	"errors"
	"fmt"
)

// errMoved means that other ledgers count now.
var errMoved = errors.New("other ledgers of quotas count now")

// carryOut does the waiting work of one ledger. The caller has listed the groups before, if there is a decision to make.
func (l *Ledger) carryOut(ctx context.Context, t *task, found *survey) error {
	b, work := t.book, t.work
	for range conflicts {
		current, set := t.current, t.set
		if work.empty() {
			l.mu.Lock()
			notify := drained(b.unsure)
			l.mu.Unlock()
			l.tell(notify)
			return nil
		}
		f, groups := found.of(b.key)
		d, answers := decide(current, f, groups, work, true)
		d.state.Set, d.state.Of = set, orElse(d.state.Of, b.of)
		version, err := l.write(ctx, t, d, current.Version)
		if errors.Is(err, ErrFull) {
			// Entries that shrink or existed before still fit.
			full := err
			d, answers = decide(current, f, groups, work, false)
			d.state.Set, d.state.Of = set, orElse(d.state.Of, b.of)
			for id := range answers {
				answers[id] = Answer{Outcome: Unavailable, Problem: full.Error()}
			}
			version, err = l.write(ctx, t, d, current.Version)
		}
		if err == nil && len(work.claims) > 0 {
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

// decide computes the content of a write. It is pure. Without claims, it only writes give-backs and missing entries.
func decide(current Stored, f facts, groups [][]Group, work batch, claims bool) (*draft, map[Key]Answer) {
	d := newDraft(current.State, f)
	for id, g := range work.lowers {
		d.lower(id, g)
	}
	d.totals = totals(&d.state) // sums that overflowed cannot be subtracted from
	answers := make(map[Key]Answer, len(work.claims))
	if claims {
		d.countAll(groups, work.lowers)
		d.mark()
	}
	for _, growing := range []bool{false, true} { // existing usage comes before growth
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

func (l *Ledger) write(ctx context.Context, t *task, d *draft, version string) (string, error) {
	if !d.changed {
		return version, nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	l.opts.Counters.Wrote()
	version, err := l.opts.Store.Write(ctx, t.key, d.state, version)
	if !errors.Is(err, ErrConflict) && !errors.Is(err, ErrFull) {
		t.wrote += d.state.bytes()
	}
	return version, err
}

// answer publishes a write and notifies the groups that it answers.
func (l *Ledger) answer(b *book, d *draft, version string, work batch, answers map[Key]Answer) {
	l.mu.Lock()
	var notify []Key
	if d.changed && d.state.Set == l.set && !b.overtaken(version) {
		stored := Stored{State: d.state, Version: version, Seen: version}
		var others []Key
		notify, others = b.take(stored, l.set)
		for _, id := range others {
			if _, asked := b.flying[id]; !asked { // the survey counted it
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
		// A claim that does not grow enters the group's holdings. An earlier entry, from an old cache, can be larger.
		e, _ := d.state.entry(c.Key())
		if !told[c.Key()] && (c.grows() || !c.Holds.Covers(e.Usage)) {
			notify = append(notify, c.Key())
		}
	}
	l.mu.Unlock()
	l.tell(notify)
}

// confirm checks that the ledgers of a set still count. A grant in an outdated ledger would be granted twice.
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
