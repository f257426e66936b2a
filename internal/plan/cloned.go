package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// revisionFor decides which revision the clone of an ordinal gets, and what forbids to clone it; m is what is recorded of the ordinal, or nil.
//
// Without an update it is that of spec. During one, a VM that was lost returns in the revision that it had. Others are of the target once a VM of it
// has been available. Before that, older ones make up for what is missing, but for as many as the update may take away or add. Where none of the older
// revision can be cloned, the target is tried: see tries.
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
			Brief: "VMs of the new revision do not become ready, and what the older ones are made of is not known", Message: "No VM is cloned: those of the new " +
				"revision do not become ready, and what the older ones are made of is not known."}
	case p.roll.going && p.olds() >= p.spec.desired-p.spec.update.unavailable, p.tries(older.Blocked):
		return target, p.in.CreateBlocked
	}
	return older.Recorded.Revision, older.Blocked
}

// returnsAs is the shape in which a VM that was lost returns, or waits to return, or nil if it has none: the target is cloned in its place then.
func (p *planner) returnsAs(m *member, mayTarget bool) *Shape {
	had := p.had(m)
	if had == "" || had == p.roll.Revision && !mayTarget {
		return nil
	}
	shape := p.roll.shapes[had]
	if shape == nil || shape.Blocked != nil && mayTarget && (p.proven() || p.tries(shape.Blocked)) {
		return nil
	}
	return shape
}

// tries is true where a VM of the target is cloned in place of an older one that cannot be, although none of the target has been available: nothing else
// could show that it works. There are as many such VMs as the update may take away and add, and at least one. What has only not been read yet is
// waited for.
func (p *planner) tries(blocked *Blocker) bool {
	return p.roll.going && blocked != nil && blocked.Terminal && p.trials() < max(p.spec.update.surge+p.spec.update.unavailable, 1)
}

// trials is the number of VMs of the target that show, or are to show, whether it works.
func (p *planner) trials() int32 {
	n := int32(0)
	for _, m := range p.table() {
		if p.trial(m) {
			n++
		}
	}
	return n
}

// trial is true for a VM of the target that is there, on its way, or decided on in this look. One that had had its time before the update began shows nothing: the
// update does not wait for it.
func (p *planner) trial(m *member) bool {
	return !m.doomed && (!m.missing() || m.kept) && m.status.Revision == p.roll.Revision && !p.failedBefore(m)
}

// wentBack is true for a lost VM of the revision of spec while the group is held at another: spec went back to what the VM was, and that is not allowed
// any more. Nobody asked for another one in its place, also long after: the update may have ended since, or its record was lost.
//
// Without an update it is also true for a VM of which nothing is recorded, as long as one of the revision of spec is there: spec was taken back from the
// revision that the group is held at, so none of that one is added.
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

// had is the revision of the VM that a clone makes up for, or empty.
func (p *planner) had(m *member) string {
	if m != nil && (m.state == gone || m.state == intended && p.replacement(m)) {
		return m.status.Revision
	}
	return ""
}

// proven is true once a VM of the target has been available.
func (p *planner) proven() bool {
	return slices.ContainsFunc(p.table(), func(m *member) bool {
		since := m.status.ReadySince
		return m.state == present && !m.doomed && m.status.Revision == p.roll.Revision && (m.status.Available || !since.IsZero() && !p.availableAt(since).After(p.in.Now))
	})
}

// before is the shape of most of the VMs that are updated, the newest of several; or nil if it is not known, or none of them is left.
func (p *planner) before() *Shape {
	var before *Shape
	most := 0
	for i := len(p.in.Shapes) - 1; i >= 0; i-- {
		s, n := &p.in.Shapes[i], 0
		if !p.roll.from[s.Recorded.Revision] {
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

// olds is the number of older VMs that are there, on their way, or decided on in this look.
func (p *planner) olds() int32 {
	n := int32(0)
	for _, m := range p.table() {
		if !m.doomed && (!m.missing() || m.kept) && m.status.Revision != p.roll.Revision {
			n++
		}
	}
	return n
}

// explainOlder reports VMs that cannot be cloned in an older revision. While one of the target is tried in their place, that is not terminal.
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

// trying is true while a VM of the target can become the first one that is available.
func (p *planner) trying() bool {
	return slices.ContainsFunc(p.table(), func(m *member) bool {
		return p.trial(m) && !p.failed(m)
	})
}
