package quota

import (
	"iter"
	"maps"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// parts is how many parts the entries of a ledger are kept in. A grant writes one of them anew, and who watches decodes that one only.
const parts = 64

// State is what was granted. It is never changed once it is shared, and states that follow each other share the parts that did not change.
type State struct {
	// Set names the ledgers that count together; see [Stored].
	Set string
	// Of tells people whose total it is.
	Of string
	// Counted are, by quota, the members whose groups have all been entered for it; see markOf.
	Counted map[string][]string

	parts [parts]*part
}

// part are the entries whose UIDs fall into it.
type part struct {
	entries map[Key]Entry
	// sums are what they add up to, by total; nil while the entries change.
	sums map[string]policy.Usage
	// stored is the part as it is stored, once that is known.
	stored atomic.Pointer[string]
}

// Entry is what one group was granted.
type Entry struct {
	Namespace, Name string
	// Usage is what counts. It has no group once the group is gone and VMs of it are left.
	Usage policy.Usage
	// Beyond is what of Usage exists without a grant. A group that asks for it claims it.
	Beyond policy.Usage
	// Keys are the totals that the group counts in; see keyOf.
	Keys []string
	// Epoch of the holder that wrote it.
	Epoch v1alpha1.Epoch
	// Doubted says that the ledger turned out to be behind what groups have, as one from a backup is. What this entry has beyond what its
	// group holds may be from then, when others had less, and grants nothing before its holder has claimed it anew or given it back.
	Doubted bool
}

// granted is what of the entry was granted.
func (e Entry) granted() policy.Usage { return minus(e.Usage, e.Beyond) }

// counts returns the entry with what counts now, and what of it was granted.
func (e Entry) counts(usage, granted policy.Usage) Entry {
	e.Usage, e.Beyond = usage, minus(usage, usage.Min(granted))
	e.Beyond.Groups = 0 // that the group exists needs no grant
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

// entry returns what a group was granted.
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

// empty reports whether it has no entries.
func (s *State) empty() bool {
	for range s.all() {
		return false
	}
	return true
}

// part returns one that can be changed.
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

// totals are what the entries of a state add up to, by key.
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

// changed are the groups whose entries are not as they were.
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

// partOf spreads UIDs over the parts, by FNV-1a of their end.
func partOf(uid types.UID) int {
	h := uint32(2166136261)
	for i := max(0, len(uid)-8); i < len(uid); i++ {
		h = (h ^ uint32(uid[i])) * 16777619
	}
	return int((h ^ h>>16) % parts)
}
