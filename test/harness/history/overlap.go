package history

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Overlap proves that two replicas acted on one group at the same time.
type Overlap struct {
	Group string
	// First was in progress when Second, of another process, arrived.
	First, Second Call
}

// String returns both calls.
func (o Overlap) String() string {
	return fmt.Sprintf("two replicas acted on group %s at a time:\n  %s\n  %s", o.Group, o.First, o.Second)
}

// Overlaps returns each call that arrived while a call of another process on the same group was in progress, with that call. It takes time
// O(n log n).
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

// EndsAfter reports whether a call is in progress at a moment. A call that ends at that moment is over.
func EndsAfter(c Call, moment time.Time) bool { return c.End.IsZero() || c.End.After(moment) }

// lasting contains the two calls with the latest end so far, of different processes. For a call of any process, one of them belongs to
// another process.
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

// longer reports whether a ends after b. A call in progress has no end.
func longer(a, b Call) bool {
	return !b.End.IsZero() && (a.End.IsZero() || a.End.After(b.End))
}
