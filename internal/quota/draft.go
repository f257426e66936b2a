package quota

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// Group is a group as the members' caches show it.
type Group struct {
	UID       types.UID
	Name      string
	Requester policy.Requester
	// Holds is the admitted or the existing usage of the group, whichever is more. It counts.
	Holds policy.Usage
	// Granted is the part that needs no grant: the admitted usage. Existing usage beyond it counts, and is claimed as growth.
	Granted policy.Usage
}

// Key returns the key of the group.
func (g Group) Key() Key { return Key{g.Requester.Member, g.UID} }

// Claim asks for the usage that a spec needs.
type Claim struct {
	Group
	Spec v1alpha1.VmGroupSpec
	// Wants is the usage of the group with spec. It is more than spec needs while the group has larger VMs.
	Wants policy.Usage
	// Surges are the usages with one VM more, with two more, and so on, each at least Wants, while the VMs are updated. As many are granted as there
	// is room for. The claim is granted even if none of them is.
	Surges []policy.Usage
	// Epoch of the asking holder.
	Epoch v1alpha1.Epoch
}

func (c Claim) grows() bool { return !c.Granted.Covers(c.Wants) }

// giveBack lowers an entry, or sets the entry of a deleted group to its remaining usage. A zero usage removes the entry.
type giveBack struct {
	to    policy.Usage
	epoch v1alpha1.Epoch
	// gone is true for a deleted group, which has no later holder.
	gone bool
	// settles is true if the group holds all that it needs, so that no part of its entry can be an old grant.
	settles bool
	// keys are the totals that the entry counts in, as far as they are known.
	keys []string
}

// ends reports whether the group was deleted.
func (g giveBack) ends() bool { return g.to.Groups == 0 }

// Outcome is the result of a claim.
type Outcome int

// Outcomes.
const (
	// Granted: the group can follow its spec.
	Granted Outcome = iota
	// Refused: a quota has not enough left.
	Refused
	// Waiting: the claim is in progress; the group is notified.
	Waiting
	// Unavailable: the claim cannot be decided now.
	Unavailable
)

// Answer is the answer to a claim.
type Answer struct {
	Outcome Outcome
	// Wait is the minimum time that a claim waits because its member has used up its budget of writes. It is zero if the answer comes soon.
	Wait time.Duration
	// Violations are those of enforced quotas, and those of quotas that only warn.
	Violations []policy.Violation
	// Problem explains why the quota is unavailable. For a granted claim, it explains why its Surges cannot be decided; the group is not notified
	// when that changes.
	Problem string
	// Surge is the number of granted Surges of a granted claim. Short explains why not all are granted, or is empty. The group is notified when there
	// is more room.
	Surge int
	Short string
}

// facts is the knowledge outside of the ledger.
type facts struct {
	// remnants are of groups that are in no cache.
	remnants []Remnant
	// key of the total of this decision, or "" without a write.
	key string
	set *policy.Set
	// served reports whether all groups of a member are known here. members has the names of all members.
	served  func(member string) bool
	members []string
}

// quotas returns the policies whose quotas are counted here and apply to a requester.
func (f *facts) quotas(r policy.Requester) []*policy.Policy {
	return countedIn(f.key, f.set.Quotas(r), r)
}

// countedIn returns the quotas of a requester that are counted in the ledger of a total.
func countedIn(key string, quotas []*policy.Policy, r policy.Requester) []*policy.Policy {
	for i, p := range quotas {
		if keyOf(p, r) == key {
			return quotas[i : i+1]
		}
	}
	return nil
}

// draft decides one write of the ledger. It is pure.
type draft struct {
	facts
	state   State
	totals  map[string]policy.Usage
	changed bool
}

// newDraft starts from a state, which it does not change.
func newDraft(s State, f facts) *draft {
	s.Counted = maps.Clone(s.Counted)
	return &draft{facts: f, state: s, totals: totals(&s)}
}

// put enters a group and updates the totals.
func (d *draft) put(id Key, e Entry) {
	old, had := d.state.entry(id)
	if had && old.Usage == e.Usage && old.Beyond == e.Beyond && old.Epoch == e.Epoch && old.Doubted == e.Doubted && slices.Equal(old.Keys, e.Keys) {
		return
	}
	d.remove(id)
	d.state.part(partOf(id.UID)).entries[id] = e
	for _, key := range e.Keys {
		d.totals[key] = d.totals[key].Add(e.Usage)
	}
	d.changed = true
}

func (d *draft) remove(id Key) {
	old, had := d.state.entry(id)
	if !had {
		return
	}
	delete(d.state.part(partOf(id.UID)).entries, id)
	for _, key := range old.Keys {
		d.totals[key] = d.totals[key].Minus(old.Usage)
	}
	d.changed = true
}

// usedByOthers returns the usage of all groups but one in a total.
func usedByOthers(s *State, sums map[string]policy.Usage, key string, id Key) policy.Usage {
	used := sums[key]
	if own, ok := s.entry(id); ok && slices.Contains(own.Keys, key) {
		used = used.Minus(own.Usage)
	}
	return used
}

// adoptable returns the usage in a total of a deleted group of the same namespace whose VMs another group will adopt. The advice of Check does not
// count these VMs twice. Grants ignore what a group announces: a VM counts for the group whose stamp it carries.
func adoptable(s *State, key string, r policy.Requester, of *v1alpha1.VmGroup) policy.Usage {
	e, ok := s.entry(Key{r.Member, types.UID(of.Annotations[v1alpha1.AdoptAnnotation])})
	if !ok || e.Namespace != r.Namespace || e.Usage.Groups > 0 || !slices.Contains(e.Keys, key) {
		return policy.Usage{}
	}
	return e.Usage
}

// lower gives back what a group no longer needs, unless a later holder has written the entry. The entry of a deleted group becomes its remaining
// usage, even if that is more: an entry from a backup can be too low.
//
// The doubt of an entry stays if the group needs a wanted part that is not admitted yet: its holder possibly does not know yet that the grant is
// doubted.
func (d *draft) lower(id Key, g giveBack) {
	e, ok := d.state.entry(id)
	if !ok || !g.gone && g.epoch.Less(e.Epoch) {
		return
	}
	if !g.gone {
		g.to, e.Epoch = g.to.Min(e.Usage), g.epoch
	}
	if g.to == (policy.Usage{}) {
		d.remove(id)
		return
	}
	e.Doubted = e.Doubted && !g.settles
	d.put(id, e.counts(g.to, e.granted()))
}

// countAll enters the holdings of the groups. If these are more than the ledger has, the ledger is not the newest one, and the rest of it is doubted.
//
// A ledger that exceeds the quota, and has entries that are doubted or beyond a grant, is doubted again before each decision. It can be from a
// backup. In that case, a group got a grant since for the part that was doubted or beyond a grant. The grant of another group, which has been given
// back since, would give the same room again.
func (d *draft) countAll(groups [][]Group, lowered map[Key]giveBack) {
	behind := false
	var quotas []*policy.Policy
	for _, of := range groups {
		quotas = d.quotas(of[0].Requester)
		keys := keysOf(quotas, of[0].Requester)
		for i := range of {
			ends := false
			if len(lowered) > 0 {
				lower, lowers := lowered[of[i].Key()]
				ends = lowers && lower.ends()
			}
			if len(keys) > 0 && !ends { // the cache can still show a deleted group
				behind = d.count(&of[i], keys) || behind
			}
		}
	}
	behind = d.countRemnants(lowered) || behind
	if behind || d.overdrawn(quotas) {
		d.doubtAll(groups)
	}
}

// overdrawn reports whether the entries exceed an enforced quota that is counted here, and some of their usage is doubted or beyond a grant.
func (d *draft) overdrawn(quotas []*policy.Policy) bool {
	over := func(p *policy.Policy) bool { return p.Enforced() && p.Exceeded(d.totals[d.key]) }
	if !slices.ContainsFunc(quotas, over) {
		return false
	}
	for _, e := range d.state.all() {
		if e.Doubted || e.Beyond != (policy.Usage{}) {
			return true
		}
	}
	return false
}

// doubtAll doubts entries that exceed the group's holdings, entries with more granted than admitted, and entries of groups in no cache.
func (d *draft) doubtAll(groups [][]Group) {
	listed, doubted := map[Key]bool{}, map[Key]Entry{}
	for _, of := range groups {
		for i := range of {
			g := &of[i]
			listed[g.Key()] = true
			if e, ok := d.state.entry(g.Key()); ok && (!g.Holds.Covers(e.Usage) || !g.Granted.Covers(e.granted())) {
				doubted[g.Key()] = e
			}
		}
	}
	for id, e := range d.state.all() {
		if e.Usage.Groups > 0 && !listed[id] {
			doubted[id] = e
		}
	}
	for id, e := range doubted {
		e.Doubted = true
		d.put(id, e)
	}
}

// count enters a group with its holdings, and reports whether they were missing.
//
// A pending give-back of the group is no evidence here. It can be older than the restored ledger, or from a former holder, while the group has more.
func (d *draft) count(g *Group, keys []string) (behind bool) {
	if g.Holds.Groups == 0 {
		return false
	}
	e, ok := d.state.entry(g.Key())
	switch {
	case !ok:
		behind, e = true, entryOf(*g)
	case !e.Usage.Covers(g.Holds):
		behind, e = true, e.counts(e.Usage.Max(g.Holds), e.granted().Max(g.Granted))
	case slices.Equal(e.Keys, keys):
		return false
	}
	e.Keys = keys
	d.put(g.Key(), e)
	return behind
}

// mark records which members have been counted for the totals over all members, and removes those that are not counted in them now. A quota that
// returns to its earlier form has not counted the changes in between.
func (d *draft) mark() {
	over := map[string]*policy.Policy{}
	for _, p := range d.set.Policies() {
		if p.HasQuota() && together(p) && d.key == keyOf(p, policy.Requester{}) {
			over[markOf(p)] = p
		}
	}
	for mark, members := range d.state.Counted {
		p := over[mark]
		counted := slices.DeleteFunc(slices.Clone(members), func(member string) bool {
			return p == nil || !slices.Contains(d.members, member) || !slices.Contains(d.set.ForMember(member), p)
		})
		switch {
		case len(counted) == len(members):
			continue
		case len(counted) == 0:
			delete(d.state.Counted, mark)
		default:
			d.state.Counted[mark] = counted
		}
		d.changed = true
	}
	for mark, p := range over {
		for _, member := range d.members {
			if !d.served(member) || slices.Contains(d.state.Counted[mark], member) || !slices.Contains(d.set.ForMember(member), p) {
				continue
			}
			if d.state.Counted == nil {
				d.state.Counted = map[string][]string{}
			}
			d.state.Counted[mark] = slices.Sorted(slices.Values(append(slices.Clone(d.state.Counted[mark]), member)))
			d.changed = true
		}
	}
}

// entryOf returns an entry with the group's holdings.
func entryOf(g Group) Entry {
	return Entry{Namespace: g.Requester.Namespace, Name: g.Name}.counts(g.Holds, g.Granted)
}

// claim grants or refuses one claim. Existing usage of the group counts in any case, and is granted only with the claim.
//
// A claim ends the doubt of an entry, and lowers no entry: its data comes from a cache, which can miss what a former holder admitted. The part of a
// doubted entry beyond the claim still counts, without a grant. The holder gives it back after it has read the group afresh.
func (d *draft) claim(c Claim) Answer {
	quotas := d.quotas(c.Requester)
	if len(quotas) == 0 {
		return Answer{}
	}
	answer := evaluate(d.facts, &d.state, d.totals, c, quotas)
	e, _ := d.state.entry(c.Key())
	has, granted, doubted := c.Holds.Max(e.Usage), c.Granted, e.Doubted && answer.Outcome != Granted
	if doubted || !e.Doubted {
		granted = granted.Max(e.granted())
	}
	if answer.Outcome == Granted {
		has, granted = has.Max(c.Wants), granted.Max(c.Wants)
	}
	if has.Groups == 0 {
		return answer
	}
	e = entryOf(c.Group).counts(has, granted)
	e.Keys, e.Epoch, e.Doubted = keysOf(quotas, c.Requester), c.Epoch, doubted
	d.put(c.Key(), e)
	return answer
}

// evaluate returns the result that a claim would have. It changes nothing.
func evaluate(f facts, s *State, sums map[string]policy.Usage, c Claim, quotas []*policy.Policy) Answer {
	granted := c.Granted
	if e, ok := s.entry(c.Key()); ok && !e.Doubted {
		granted = granted.Max(e.granted())
	}
	var answer Answer
	problem := ""
	more := !granted.Covers(c.Wants)
	for _, p := range quotas {
		violations := p.CheckQuota(c.Requester, c.Name, c.Spec, c.Wants, granted, usedByOthers(s, sums, keyOf(p, c.Requester), c.Key()))
		answer.Violations = append(answer.Violations, violations...)
		if len(violations) > 0 && p.Enforced() {
			answer.Outcome = Refused
		}
		if problem == "" && more && p.Enforced() {
			problem = unknown(f, s, p, c.Requester)
		}
	}
	if answer.Outcome == Granted && problem != "" {
		return Answer{Outcome: Unavailable, Problem: problem}
	}
	return answer
}

// unknown names the member whose groups must be known to decide a claim and are not, or returns "".
func unknown(f facts, s *State, p *policy.Policy, r policy.Requester) string {
	if !f.served(r.Member) {
		return fmt.Sprintf("The quota of VmGroupPolicy %q cannot be judged before all groups of MemberCluster %q are known", p.Name(), r.Member)
	}
	if !together(p) {
		return ""
	}
	mark := markOf(p)
	for _, member := range f.members {
		if f.served(member) || slices.Contains(s.Counted[mark], member) || !slices.Contains(f.set.ForMember(member), p) {
			continue
		}
		return fmt.Sprintf("The quota of VmGroupPolicy %q counts over all members, and the groups of MemberCluster %q, which is not connected, are not known", p.Name(), member)
	}
	return ""
}
