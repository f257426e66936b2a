package trust

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Limits are the wait times of the protocol.
type Limits struct {
	// Settle is how long all members must have trusted a leaf, and its minimum age, before it is served. It covers lagging
	// informers, an apply by a replica that has just lost leadership, and clock differences.
	Settle time.Duration
	// Overlap is how long every replica must have served the new leaf before the old authority is removed.
	Overlap time.Duration
	// Lost is how long the protocol waits for a replica that vanished while it served a leaf of the old authority. The
	// replica is possibly cut off from the hub and still answers members.
	Lost time.Duration
}

// DefaultLimits are those of an installation without scaled waits.
func DefaultLimits() Limits {
	return Limits{Settle: 30 * time.Second, Overlap: 2 * time.Minute, Lost: time.Hour}
}

// Scale multiplies all waits, for tests and demonstrations.
func (l Limits) Scale(factor float64) Limits {
	scaled := func(d time.Duration) time.Duration { return time.Duration(float64(d) * factor) }
	return Limits{Settle: scaled(l.Settle), Overlap: scaled(l.Overlap), Lost: scaled(l.Lost)}
}

// Member is a cluster that has, or must get, webhook configurations.
type Member struct {
	Name string
	// Acked is the hash of the bundle that its API server accepted, "" if it has no webhook configuration.
	Acked string
	// Reachable is true if a new bundle can be installed in the member.
	Reachable bool
}

// Replica is a process that is not known to have ended, with its published data.
type Replica struct {
	// Process is unique to one run of a process, which can have several consecutive sessions.
	Process string
	// Serving is the published data; the zero value if the replica has published nothing yet.
	Serving Serving
}

// Input is all data for a decision. Decide does not change it.
type Input struct {
	Now    time.Time
	Limits Limits
	// Stored is the state in the Secret.
	Stored State
	// Current are the authorities that sign certificates now.
	Current []Authority
	// Offered is the leaf that cert-manager, or another writer of the files, offers to serve; nil if there is none.
	// FindSigners must have run on it with Stored.Authorities and Current.
	Offered  *Leaf
	Members  []Member
	Replicas []Replica
}

// Behind is a member that does not trust all authorities yet.
type Behind struct {
	Member string
	// Since is when the oldest authority that the member does not trust was first distributed.
	Since time.Time
	// Reachable is true if the member responds: it does not take a new bundle although it could.
	Reachable bool
	// Broken is true if the member does not accept the leaf that is served: its calls to the webhook fail.
	Broken bool
}

// Decision is the desired state.
type Decision struct {
	State State
	// Changed is true if State must be written.
	Changed bool
	// Switched is true if another leaf is served from now on. Forced names the members that will not accept it.
	Switched bool
	Forced   []string
	// Pruned are the authorities, by hash, that members do not need to trust any more.
	Pruned []string
	// Behind is sorted by name.
	Behind []Behind
	// Waiting is a sentence with the reason why the offered leaf is not served yet; "" if it is served or if there is none.
	Waiting string
	// Next is the next time at which Decide must run without a change of its input; zero if never.
	Next time.Time
}

// Decide applies the rules of the package's description once. It records its observations in the returned Memory, which must
// be passed to the next call. The zero Memory only lacks the durations of states, and so causes delays.
func Decide(in Input, memory Memory) (Decision, Memory) {
	d := &decider{in: in, now: in.Now, state: in.Stored, memory: memory.seen(in)}
	d.state.Authorities = slices.Clone(d.state.Authorities)
	for _, rule := range []func(*decider){dropExpired, addCurrent, noteBundle, chooseLeaf, pruneAuthorities, noteBundle, reportBehind} {
		rule(d)
	}
	if d.next.After(d.now) {
		d.out.Next = d.next
	}
	d.out.State = d.state
	d.out.Changed = !d.state.same(in.Stored)
	return d.out, d.memory
}

type decider struct {
	in     Input
	now    time.Time
	state  State
	memory Memory
	out    Decision
	next   time.Time
}

// due records when Decide must run next.
func (d *decider) due(at time.Time) {
	if at.After(d.now) && (d.next.IsZero() || at.Before(d.next)) {
		d.next = at
	}
}

// same compares the written parts of the state. The path's key is not decided here.
func (s State) same(other State) bool {
	fingerprint := func(l *Leaf) string {
		if l == nil {
			return ""
		}
		return l.Fingerprint
	}
	return fingerprint(s.Served) == fingerprint(other.Served) &&
		slices.EqualFunc(s.Authorities, other.Authorities, func(a, b Authority) bool { return a.Hash == b.Hash }) &&
		slices.EqualFunc(s.Bundles, other.Bundles, func(a, b Bundle) bool { return a.Hash == b.Hash })
}

func dropExpired(d *decider) {
	d.state.Authorities = slices.DeleteFunc(d.state.Authorities, func(a Authority) bool {
		d.due(a.NotAfter)
		return !d.now.Before(a.NotAfter)
	})
}

// addCurrent distributes new authorities at once: trusting one more breaks nothing.
func addCurrent(d *decider) {
	for _, a := range d.in.Current {
		if d.now.Before(a.NotAfter) && !holds(d.state.Authorities, a.Hash) {
			d.state.Authorities = append(d.state.Authorities, a)
			d.due(a.NotAfter)
		}
	}
}

func noteBundle(d *decider) { d.state.note(d.now) }

// chooseLeaf switches to the offered leaf when it is due.
func chooseLeaf(d *decider) {
	offered, served := d.in.Offered, d.state.Served
	if offered == nil || served != nil && served.Fingerprint == offered.Fingerprint {
		return
	}
	expired := !d.now.Before(offered.NotAfter)
	trusted := offered.usable(d.state.Authorities, d.now)
	if served == nil || !served.usable(d.state.Authorities, d.now) {
		// No risk: a leaf that only some accept is better than one that no client accepts.
		if trusted || !expired && (served == nil || !d.now.Before(served.NotAfter)) {
			d.take(offered)
		} else {
			d.out.Waiting = "no authority that members can trust signed it, or it is not valid now"
			d.due(offered.NotBefore)
		}
		return
	}
	if offered.NotBefore.Before(served.NotBefore) {
		return // a replica with outdated files offers a leaf that was replaced already
	}
	d.due(served.end(d.state.Authorities))
	if !trusted {
		d.out.Waiting = "no authority that members can trust signed it, or it is not valid now"
		d.due(offered.NotBefore)
		return
	}
	d.awaitMembers(offered, served)
}

// awaitMembers switches when all members have trusted the offered leaf for long enough, or when no time is left.
func (d *decider) awaitMembers(offered, served *Leaf) {
	var doubtful []string
	for _, m := range d.in.Members {
		if d.blocks(m, offered, served) {
			doubtful = append(doubtful, m.Name)
		}
	}
	slices.Sort(doubtful)
	last := d.lastMoment(offered, served)
	d.due(last)
	settled := later(offered.NotBefore, d.memory.settled(offered.Fingerprint, len(doubtful) == 0, d.now)).Add(d.in.Limits.Settle)
	switch {
	case len(doubtful) == 0 && !d.now.Before(settled):
		d.take(offered)
	case !d.now.Before(last):
		d.take(offered)
		d.out.Forced = doubtful
	case len(doubtful) == 0:
		d.due(settled)
		d.out.Waiting = fmt.Sprintf("all members know its authority; it is served from %s", settled.UTC().Format(time.RFC3339))
	default:
		d.out.Waiting = fmt.Sprintf("its authority is not known yet to %s; it is served from %s at the latest",
			strings.Join(doubtful, ", "), last.UTC().Format(time.RFC3339))
	}
}

// lastMoment is when the offered leaf is served whatever members trust. At that time, a third of the period with both leaves
// is left, and at least the overlap. Later, all members would fail instead of some. If no leader ran to distribute the
// authority before, members get extra time, as long as the leaf in use is valid.
func (d *decider) lastMoment(offered, served *Leaf) time.Time {
	end := served.end(d.state.Authorities)
	last := end.Add(-max(end.Sub(offered.NotBefore)/3, d.in.Limits.Overlap))
	if chance := d.memory.awake.Add(d.in.Limits.Overlap); chance.After(last) {
		last = later(last, earlier(chance, end.Add(-d.in.Limits.Settle)))
	}
	return last
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// blocks reports whether calls of a member to the webhook can fail with the offered leaf.
func (d *decider) blocks(m Member, offered, served *Leaf) bool {
	if m.Acked == "" {
		return m.Reachable // else it has no webhook that could fail; while it responds, an apply of an older bundle is possibly in progress
	}
	trusted, known := d.state.trusted(m.Acked)
	if !known {
		return true
	}
	accepts := func(l *Leaf) bool {
		return slices.ContainsFunc(trusted, func(hash string) bool { return slices.Contains(l.Signers, hash) })
	}
	return accepts(served) && !accepts(offered)
}

func (d *decider) take(offered *Leaf) {
	d.state.Served = offered
	d.out.Switched = true
}

func pruneAuthorities(d *decider) {
	served := d.state.Served
	if served == nil || len(d.in.Replicas) == 0 {
		return
	}
	kept := d.state.Authorities[:0:0]
	for _, a := range d.state.Authorities {
		if holds(d.in.Current, a.Hash) || slices.Contains(served.Signers, a.Hash) {
			kept = append(kept, a)
			continue
		}
		free, ever := d.memory.freeAt(a.Hash, served.Fingerprint, d.now, d.in.Limits)
		if ever && !d.now.Before(free) {
			d.out.Pruned = append(d.out.Pruned, a.Hash)
			continue
		}
		if ever {
			d.due(free)
		}
		kept = append(kept, a)
	}
	if len(kept) == 0 {
		d.out.Pruned = nil
		return // with an empty bundle, members would trust every authority
	}
	d.state.Authorities = kept
}

// reportBehind lists the members that lack an authority that they need now or next.
func reportBehind(d *decider) {
	var needed []string
	for _, a := range d.in.Current {
		if holds(d.state.Authorities, a.Hash) {
			needed = append(needed, a.Hash)
		}
	}
	for _, m := range d.in.Members {
		trusted, known := d.state.trusted(m.Acked)
		if m.Acked == "" {
			continue // it has no webhook configuration; the member's own condition has the reason
		}
		b := Behind{Member: m.Name, Reachable: m.Reachable}
		missing := false
		for _, hash := range needed {
			if slices.Contains(trusted, hash) {
				continue
			}
			if since := d.state.since(hash); !missing || since.Before(b.Since) {
				b.Since = since
			}
			missing = true
		}
		if served := d.state.Served; served != nil && known {
			b.Broken = !slices.ContainsFunc(trusted, func(hash string) bool { return slices.Contains(served.Signers, hash) })
		}
		if missing || b.Broken {
			d.out.Behind = append(d.out.Behind, b)
		}
	}
	slices.SortFunc(d.out.Behind, func(a, b Behind) int { return cmp.Compare(a.Member, b.Member) })
}
