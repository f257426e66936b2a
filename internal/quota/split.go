package quota

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/log"
)

// A replica that knows that each total may have a ledger of its own says so to the others, under this key and with this value.
const (
	PublishedKey   = "quota-ledgers"
	PublishedValue = "per-total"
)

// split writes a ledger for each total from one version of the ledger of all totals, and then the word that they count in the place of exactly
// that version. It does so once no replica lives that knows the ledger of all totals only. Whatever it leaves behind when it is interrupted
// does not count.
//
// Two replicas may do it at the same time. Each lists before it reads: a ledger in its list was written from the version that it reads, or from
// an older one, which cannot become the one that counts any more. One that is not in its list, or has changed since, it does not replace.
func (l *Ledger) split(ctx context.Context) error {
	l.mu.Lock()
	due := l.head.known && l.head.stored.Format == formatWhole
	l.mu.Unlock()
	if !due || l.opts.Older() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, collectInterval)
	defer cancel()
	there, err := l.opts.Store.List(ctx)
	if err != nil {
		return err
	}
	whole, err := l.opts.Store.Read(ctx, "")
	switch {
	case err != nil:
		return err
	case whole.Err != nil:
		return whole.Err
	case whole.Format != formatWhole:
		return l.reread(ctx)
	}
	totals := byTotal(whole)
	for _, key := range slices.Sorted(maps.Keys(totals)) {
		was := there[key]
		if was.Err == nil && was.State.Set == whole.Next {
			continue // written by an attempt that was interrupted, or is under way
		}
		writes.Inc()
		if _, err := l.opts.Store.Write(ctx, key, totals[key], was.Version); err != nil {
			return fmt.Errorf("write the ledger of total %q: %w", key, err)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(there)) {
		if _, needed := totals[key]; needed {
			continue
		}
		if err := l.opts.Store.Delete(ctx, key, there[key].Version); err != nil && !errors.Is(err, ErrConflict) {
			return err
		}
	}
	writes.Inc()
	if err := l.opts.Store.Mark(ctx, whole.Version); err != nil {
		return err
	}
	log.FromContext(ctx).Info("Each total of a quota has a ledger of its own now", "ledgers", len(totals))
	return l.reread(ctx)
}

func (l *Ledger) reread(ctx context.Context) error {
	l.mu.Lock()
	l.head.known = false
	l.mu.Unlock()
	return l.read(ctx, &task{book: l.head})
}

// byTotal returns the ledgers of all totals in the ledger of all. Which quota was counted where is told by the first write of each.
func byTotal(whole Stored) map[string]State {
	entries := map[string]map[Key]Entry{}
	for id, e := range whole.State.all() {
		for _, key := range e.Keys {
			if entries[key] == nil {
				entries[key] = map[Key]Entry{}
			}
			one := e
			one.Keys = []string{key}
			entries[key][id] = one
		}
	}
	totals := make(map[string]State, len(entries))
	for key, of := range entries {
		s := StateOf(of)
		s.Set, s.Counted = whole.Next, maps.Clone(whole.State.Counted)
		totals[key] = s
	}
	return totals
}
