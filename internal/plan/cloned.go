package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// revisionFor returns the revision for the clone of an ordinal, and the blocker that forbids the clone. m is the recorded member of the ordinal, or nil.
//
// Without an update, the revision is that of spec. During an update, a lost VM returns in its previous revision. Other clones get the target once a target VM has been available.
// Before that, clones of an older revision fill the group, except for the VMs that the update can take away or add. If no VM of an older revision can be cloned, the target is
// tried: see tries.
func (p *planner) revisionFor(m *member) (string, *Blocker) {
	target := p.roll.Revision
	switch {
	case p.wentBack(m):
		return target, p.in.UpdateBlocked
	case !p.roll.active() || p.spec.update.onDelete:
		return p.in.Revision, p.in.CreateBlocked
	}
	mayTarget := !p.stopped() && p.in.UpdateBlocked == nil
	if shape := p.returnsAs(m, mayTarget); shape != nil {
		return shape.Recorded.Revision, shape.Blocked
	}
	switch {
	case p.in.UpdateBlocked != nil:
		return p.in.Revision, p.in.CreateBlocked
	case mayTarget && p.proven():
		return target, p.in.CreateBlocked
	}
	older := p.before()
	switch {
	case older == nil && mayTarget:
		return target, p.in.CreateBlocked
	case older == nil:
		return target, &Blocker{Reason: v1alpha1.ReasonRolloutStopped, Terminal: true,
			Brief: "VMs of the new revision do not become ready, and no older revision can be cloned", Message: "No VM is cloned: those of the new revision " +
				"do not become ready, and no older revision can be cloned, because the shapes of the older VMs are not known, or are those of adopted VMs."}
	case p.roll.going && p.olds() >= p.spec.desired-p.spec.update.unavailable, p.tries(older.Blocked):
		return target, p.in.CreateBlocked
	}
	return older.Recorded.Revision, older.Blocked
}

// returnsAs returns the shape in which a lost VM returns or waits to return. It returns nil if the VM has no such shape: then the target is cloned instead.
func (p *planner) returnsAs(m *member, mayTarget bool) *Shape {
	had := p.had(m)
	if had == "" || had == p.roll.Revision && !mayTarget {
		return nil
	}
	shape := p.roll.shapes[had]
	if shape == nil || shape.Adopted || shape.Blocked != nil && mayTarget && (p.proven() || p.tries(shape.Blocked)) {
		return nil
	}
	return shape
}

// tries is true if a target VM is cloned in place of an older one that cannot be cloned, before any target VM has been available. Only such a VM can show that the target works.
// Their number is what the update can take away and add, and at least one. The planner waits for a blocker that is not terminal, such as data that is not read yet.
func (p *planner) tries(blocked *Blocker) bool {
	return p.roll.going && blocked != nil && blocked.Terminal && p.trials() < max(p.spec.update.surge+p.spec.update.unavailable, 1)
}

// trials returns the number of target VMs that show, or will show, whether the target works.
func (p *planner) trials() int32 {
	n := int32(0)
	for _, m := range p.table() {
		if p.trial(m) {
			n++
		}
	}
	return n
}

// trial is true for a target VM that exists, is being cloned, or is planned in this run. A VM whose startup timeout ended before the update began shows nothing, and the update
// does not wait for it.
func (p *planner) trial(m *member) bool {
	return !m.doomed && (!m.missing() || m.kept) && m.status.Revision == p.roll.Revision && !p.failedBefore(m)
}

// wentBack is true for a lost VM of the revision of spec while the group is held at another revision. spec returned to the VM's revision, which is not allowed any more. No edit
// asked for another VM in its place. This also holds later, if the update has ended or its record was lost.
//
// Without an update, wentBack is also true for an unrecorded VM as long as a VM with the revision of spec exists. spec went back from the revision that the group is held at, so
// no VM of that revision is added.
func (p *planner) wentBack(m *member) bool {
	target := p.roll.Revision
	switch {
	case p.in.UpdateBlocked == nil || p.in.Revision == target:
		return false
	case m == nil && !p.roll.active():
		return slices.ContainsFunc(p.table(), func(m *member) bool { return m.status.Revision == target })
	}
	return p.had(m) == target
}

// had returns the revision of the VM that a clone makes up for, or "".
func (p *planner) had(m *member) string {
	if m != nil && (m.state == gone || m.state == intended && p.replacement(m)) {
		return m.status.Revision
	}
	return ""
}

// proven is true once a target VM has been available, or could have been if it had stayed ready: status does not record how long it did.
func (p *planner) proven() bool {
	return slices.ContainsFunc(p.table(), func(m *member) bool {
		since := m.status.ReadySince
		if m.state != present || m.doomed || m.status.Revision != p.roll.Revision || since.IsZero() && !m.status.Available {
			return false
		}
		at := p.availableAt(since)
		p.wake(at)
		return m.status.Available || !at.After(p.in.Now)
	})
}

// before returns the shape of most VMs that the update concerns, the newest of several. It returns nil if that shape is unknown or no such VM is left.
func (p *planner) before() *Shape {
	var before *Shape
	most := 0
	for i := len(p.in.Shapes) - 1; i >= 0; i-- {
		s, n := &p.in.Shapes[i], 0
		if s.Adopted || !p.roll.from[s.Recorded.Revision] {
			continue
		}
		for _, m := range p.table() {
			if !m.doomed && !m.missing() && m.status.Revision == s.Recorded.Revision {
				n += 1 + availability(m)
			}
		}
		if n > most {
			before, most = s, n
		}
	}
	return before
}

// olds returns the number of older VMs that exist, are being cloned, or are planned in this run.
func (p *planner) olds() int32 {
	n := int32(0)
	for _, m := range p.table() {
		if !m.doomed && (!m.missing() || m.kept) && m.status.Revision != p.roll.Revision {
			n++
		}
	}
	return n
}

// explainOlder reports VMs that cannot be cloned in an older revision. While a target VM is tried in their place, the blocker is not terminal.
func (p *planner) explainOlder(revision string, b Blocker) {
	if slices.ContainsFunc(p.roll.blockedOlder, func(b Blocker) bool { return strings.Contains(b.Message, revision) }) {
		return
	}
	b.Brief = cmp.Or(b.Brief, b.Message)
	b.Message = fmt.Sprintf("No VM of the older revision %s can be cloned: %s", revision, b.Message)
	p.roll.blockedOlder = append(p.roll.blockedOlder, b)
	if p.roll.going && p.trying() {
		b.Message = sentence(b.Message) + " VMs that are missing are cloned in the new revision once one of it has been ready."
		b.Terminal = false
	}
	p.blockers.add(rankCreate, b)
}

// trying is true while a target VM can become the first available one.
func (p *planner) trying() bool {
	return slices.ContainsFunc(p.table(), func(m *member) bool {
		return p.trial(m) && !p.failed(m)
	})
}
