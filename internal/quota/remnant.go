package quota

import (
	"slices"

	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// Remnant is what is known of a group that no cache has: its member is away, or it does not exist any more.
type Remnant struct {
	// Group as far as it is known. Holds is what it counts with until it is known to be gone: what the hub has on record, or what its status
	// showed last. Without a namespace it only counts where it has an entry.
	Group
	// Stands is what VMs of it take that exist.
	Stands policy.Usage
	// Unlabeled is true if the labels of its namespace are not known.
	Unlabeled bool
}

// countRemnants raises the entries of groups that no cache has to what exists of them, and enters those that are missing. It reports whether there were any.
func (d *draft) countRemnants(lowered map[Key]giveBack) (behind bool) {
	var spaces map[[2]string][]string
	for i := range d.remnants {
		r := &d.remnants[i]
		e, ok := d.state.entry(r.Key())
		has := r.Stands
		if !ok || e.Usage.Groups > 0 { // not known to be gone
			has = has.Max(r.Holds)
		}
		if lower, lowers := lowered[r.Key()]; lowers && lower.ends() { // vCenter's news can come later
			has = has.Min(lower.to)
		}
		switch {
		case ok && e.Usage.Covers(has), !ok && (has == policy.Usage{} || r.Requester.Namespace == ""):
			continue
		case ok:
			e = e.counts(e.Usage.Max(has), e.granted().Max(r.Granted))
		default:
			if r.Unlabeled && spaces == nil {
				spaces = d.spaces()
			}
			e = entryOf(r.Group).counts(has, r.Granted)
			if e.Keys = d.keysOf(r, spaces); len(e.Keys) == 0 {
				continue
			}
		}
		d.put(r.Key(), e)
		behind = true
	}
	return behind
}

// keysOf are the totals that a remnant counts in. If the labels of its namespace are unknown, it counts where other groups of that namespace have
// entries, and where a policy matches a namespace without labels.
func (d *draft) keysOf(r *Remnant, spaces map[[2]string][]string) []string {
	keys := keysOf(d.quotas(r.Requester), r.Requester)
	if r.Unlabeled {
		keys = append(keys, spaces[[2]string{r.Requester.Member, r.Requester.Namespace}]...)
		slices.Sort(keys)
		keys = slices.Compact(keys)
	}
	return keys
}

// spaces are the totals in which each namespace of a member has entries.
func (d *draft) spaces() map[[2]string][]string {
	spaces := map[[2]string][]string{}
	for id, e := range d.state.all() {
		space := [2]string{id.Member, e.Namespace}
		for _, key := range e.Keys {
			if !slices.Contains(spaces[space], key) {
				spaces[space] = append(spaces[space], key)
			}
		}
	}
	return spaces
}
