package quota

import (
	"iter"
	"maps"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// parts is the number of parts of a ledger's entries. A grant rewrites one of them, and a watch decodes only that one.
const parts = 64

// State has the grants. It never changes once it is shared, and consecutive states share the parts that did not change.
type State struct {
	// Set names the ledgers that count together; see [Stored].
	Set string
	// Of describes the total for users.
	Of string
	// Counted has, by quota, the members whose groups have all been entered for it; see markOf.
	Counted map[string][]string

	parts [parts]*part
}

// part has the entries whose UIDs hash to it.
type part struct {
	entries map[Key]Entry
	// sums are the sums of the entries, by total; nil while the entries change.
	sums map[string]policy.Usage
	// stored is the encoded part, once it is known.
	stored atomic.Pointer[string]
}

// Entry is the grant of one group.
type Entry struct {
	Namespace, Name string
	// Usage is the usage that counts. Its Groups is 0 if the group was deleted and VMs of it remain.
	Usage policy.Usage
	// Beyond is the part of Usage that exists without a grant. A group that asks for this part claims it.
	Beyond policy.Usage
	// Keys are the totals that the group counts in; see keyOf.
	Keys []string
	// Epoch of the holder that wrote it.
	Epoch v1alpha1.Epoch
	// Doubted is true if the ledger was behind the holdings of groups, for example a ledger from a backup. The part of the entry beyond the group's
	// holdings can be from then, when others had less. It grants nothing until its holder has claimed it again or given it back.
	Doubted bool
}

// granted returns the granted part of the entry.
func (e Entry) granted() policy.Usage { return e.Usage.Minus(e.Beyond) }

// counts returns the entry with the usage that counts now, and its granted part.
func (e Entry) counts(usage, granted policy.Usage) Entry {
	e.Usage, e.Beyond = usage, usage.Minus(usage.Min(granted))
	e.Beyond.Groups = 0 // the existence of the group needs no grant
	return e
}

// StateOf returns a state with these entries.
func StateOf(entries map[Key]Entry) State {
	var s State
	for id, e := range entries {
		s.part(partOf(id.UID)).entries[id] = e
	}
	s.freeze()
	return s
}

// Entries returns a copy of all entries.
func (s State) Entries() map[Key]Entry { return maps.Collect(s.all()) }

// entry returns the entry of a group.
func (s *State) entry(id Key) (Entry, bool) {
	p := s.parts[partOf(id.UID)]
	if p == nil {
		return Entry{}, false
	}
	e, ok := p.entries[id]
	return e, ok
}

func (s *State) all() iter.Seq2[Key, Entry] {
	return func(yield func(Key, Entry) bool) {
		for _, p := range s.parts {
			if p == nil {
				continue
			}
			for id, e := range p.entries {
				if !yield(id, e) {
					return
				}
			}
		}
	}
}

// empty reports whether the state has no entries.
func (s *State) empty() bool {
	for range s.all() {
		return false
	}
	return true
}

// part returns a part that can be changed.
func (s *State) part(n int) *part {
	switch p := s.parts[n]; {
	case p == nil:
		s.parts[n] = &part{entries: map[Key]Entry{}}
	case p.sums != nil:
		s.parts[n] = &part{entries: maps.Clone(p.entries)}
	}
	return s.parts[n]
}

// freeze ends the changes.
func (s *State) freeze() {
	for n, p := range s.parts {
		switch {
		case p == nil || p.sums != nil:
		case len(p.entries) == 0:
			s.parts[n] = nil
		default:
			p.sums = p.add()
		}
	}
}

func (p *part) add() map[string]policy.Usage {
	sums := map[string]policy.Usage{}
	for _, e := range p.entries {
		for _, key := range e.Keys {
			sums[key] = sums[key].Add(e.Usage)
		}
	}
	return sums
}

// totals returns the sums of the entries of a state, by key.
func totals(s *State) map[string]policy.Usage {
	all := map[string]policy.Usage{}
	for _, p := range s.parts {
		if p == nil {
			continue
		}
		sums := p.sums
		if sums == nil {
			sums = p.add()
		}
		for key, sum := range sums {
			all[key] = all[key].Add(sum)
		}
	}
	return all
}

// changed returns the groups whose entries differ between two states.
func changed(was, is *State) (ids []Key) {
	for n := range parts {
		if was.parts[n] == is.parts[n] {
			continue
		}
		var before, after map[Key]Entry
		if p := was.parts[n]; p != nil {
			before = p.entries
		}
		if p := is.parts[n]; p != nil {
			after = p.entries
		}
		for id, e := range before {
			if now, ok := after[id]; !ok || now.Usage != e.Usage || now.Beyond != e.Beyond || now.Doubted != e.Doubted {
				ids = append(ids, id)
			}
		}
		for id := range after {
			if _, ok := before[id]; !ok {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// partOf distributes UIDs over the parts, by FNV-1a of their end.
func partOf(uid types.UID) int {
	h := uint32(2166136261)
	for i := max(0, len(uid)-8); i < len(uid); i++ {
		h = (h ^ uint32(uid[i])) * 16777619
	}
	return int((h ^ h>>16) % parts)
}
