package quota

import (
	"slices"

	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// Remnant is a group that is in no cache: its member is unreachable, or it was deleted.
type Remnant struct {
	// Group as far as it is known. Holds counts until the group is known to be deleted: it is the hub's record, or the last usage in the group's
	// status. Without a namespace, Holds counts only in existing entries.
	Group
	// Stands is the usage of its existing VMs.
	Stands policy.Usage
	// Unlabeled is true if the labels of its namespace are unknown.
	Unlabeled bool
}

// countRemnants raises the entries of remnants to what exists of them, and adds missing entries. It reports whether it changed any.
func (d *draft) countRemnants(lowered map[Key]giveBack) (behind bool) {
	var spaces map[[2]string][]string
	for i := range d.remnants {
		r := &d.remnants[i]
		e, ok := d.state.entry(r.Key())
		has := r.Stands
		if !ok || e.Usage.Groups > 0 { // not known to be deleted
			has = has.Max(r.Holds)
		}
		if lower, lowers := lowered[r.Key()]; lowers && lower.ends() { // events of vCenter can arrive later
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

// keysOf returns the totals that a remnant counts in. If the labels of its namespace are unknown, two kinds count: those in which other groups of
// that namespace have entries, and those of policies that match a namespace without labels.
func (d *draft) keysOf(r *Remnant, spaces map[[2]string][]string) []string {
	keys := keysOf(d.quotas(r.Requester), r.Requester)
	if r.Unlabeled {
		keys = append(keys, spaces[[2]string{r.Requester.Member, r.Requester.Namespace}]...)
		slices.Sort(keys)
		keys = slices.Compact(keys)
	}
	return keys
}

// spaces returns the totals in which each namespace of a member has entries.
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
