package history

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Overlap is the proof that two replicas acted on one group at the same time.
type Overlap struct {
	Group string
	// First was under way when Second, of another process, arrived.
	First, Second Call
}

// String says who did what while whom.
func (o Overlap) String() string {
	return fmt.Sprintf("two replicas acted on group %s at a time:\n  %s\n  %s", o.Group, o.First, o.Second)
}

// Overlaps returns, for each call that arrived while one of another process on the same group was under way, that pair. It
// takes time O(n log n).
func (h History) Overlaps() []Overlap {
	var found []Overlap
	groups := h.acts().ByGroup()
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		var last lasting
		for _, c := range groups[group] {
			if first, ok := last.of(other(c.Boot)); ok && EndsAfter(first, c.Start) {
				found = append(found, Overlap{Group: group, First: first, Second: c})
			}
			last.add(c)
		}
	}
	return found
}

func other(boot string) func(Call) bool { return func(c Call) bool { return c.Boot != boot } }

// EndsAfter reports whether a call is under way at a moment. One that ends at that very moment is over.
func EndsAfter(c Call, moment time.Time) bool { return c.End.IsZero() || c.End.After(moment) }

// lasting are the two calls, of different processes, that last longest among those seen: of whatever process the next call
// is, one of them is another's.
type lasting []Call

func (l lasting) of(match func(Call) bool) (Call, bool) {
	if i := slices.IndexFunc(l, match); i >= 0 {
		return l[i], true
	}
	return Call{}, false
}

func (l *lasting) add(c Call) {
	calls := *l
	if i := slices.IndexFunc(calls, func(o Call) bool { return o.Boot == c.Boot }); i >= 0 {
		if longer(c, calls[i]) {
			calls[i] = c
		}
	} else {
		calls = append(calls, c)
	}
	slices.SortStableFunc(calls, func(a, b Call) int {
		switch {
		case longer(a, b):
			return -1
		case longer(b, a):
			return 1
		default:
			return 0
		}
	})
	*l = calls[:min(len(calls), 2)]
}

// longer reports whether a ends after b; what is under way has no end.
func longer(a, b Call) bool {
	return !b.End.IsZero() && (a.End.IsZero() || a.End.After(b.End))
}
