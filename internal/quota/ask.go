package quota

import (
	"context"
	"slices"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

const policiesUnread = "The VmGroupPolicies on the hub have not been read yet"

// Ask claims the part of a group's needs that the group does not hold yet. It reads memory and never blocks. If a claim needs a write, the answer is
// Waiting, and the group is notified later. The holder of the group asks again in each pass. A grant stays granted, and a repeated claim costs
// nothing.
//
// A group that asks for no more than was admitted is always granted.
func (l *Ledger) Ask(ctx context.Context, c Claim) Answer {
	answer := l.judge(ctx, c)
	l.opts.Counters.Asked(words[answer.Outcome])
	return answer
}

func (l *Ledger) judge(ctx context.Context, c Claim) Answer {
	set, ok := l.opts.Lister.Policies(ctx)
	if !ok {
		if c.grows() {
			return Answer{Outcome: Unavailable, Problem: policiesUnread}
		}
		if len(c.Surges) > 0 {
			return Answer{Short: policiesUnread, Problem: policiesUnread}
		}
		return Answer{}
	}
	quotas := set.Quotas(c.Requester)
	var f facts
	most := c
	if n := len(c.Surges); n > 0 {
		most.Wants = c.Surges[n-1]
	}
	if most.grows() && slices.ContainsFunc(quotas, (*policy.Policy).Enforced) {
		members, err := l.opts.Lister.Members(ctx)
		if err != nil {
			problem := "The MemberClusters on the hub cannot be read: " + err.Error()
			if c.grows() {
				return Answer{Outcome: Unavailable, Problem: problem}
			}
			return Answer{Short: problem, Problem: problem}
		}
		f = facts{set: set, served: l.opts.Lister.Served, members: members}
	}
	l.mu.Lock()
	answer, again := l.askSurge(f, c, quotas)
	l.signal()
	l.mu.Unlock()
	if again {
		l.opts.Listener.QuotaAnswered(c.Key())
	}
	return answer
}

// ask also reports whether the group must be reconciled again, because it must return quota.
func (l *Ledger) ask(f facts, c Claim, quotas []*policy.Policy) (answer Answer, again bool) {
	id := c.Key()
	seats := l.seats(quotas, c.Requester)
	for _, b := range l.of(id) {
		if slices.ContainsFunc(seats, func(s seat) bool { return s.book == b }) {
			continue
		}
		b.forget(id) // it no longer counts there
		if _, entered := b.entry(id); entered && b.known {
			b.lower(id, giveBack{epoch: c.Epoch})
		}
	}
	l.unpend(id) // the group's earlier claim is outdated
	if delete(l.asked, id); len(seats) == 0 {
		return Answer{}, false
	}
	for _, s := range seats {
		l.asked[id] = append(l.asked[id], s.book)
	}
	enforced := slices.ContainsFunc(seats, seat.enforced)
	_, lowering := l.later[id] // a give-back comes first
	if (!l.settled() || lowering) && (c.grows() && enforced || !c.grows() && c.Holds.Groups > 0) {
		l.pending = append(l.pending, c)
		l.head.want()
		switch {
		case !c.grows():
			return Answer{}, false
		case l.head.failure != "":
			return Answer{Outcome: Unavailable, Problem: l.head.failure}, false
		}
		return Answer{Outcome: Waiting}, false
	}
	if !c.grows() {
		for _, s := range seats {
			s.keep(c, s.quotas)
		}
		return Answer{}, false
	}
	return l.grow(f, c, seats, quotas)
}

// grow answers a claim that grows, once it is known which ledgers count.
func (l *Ledger) grow(f facts, c Claim, seats []seat, quotas []*policy.Policy) (answer Answer, again bool) {
	id := c.Key()
	var refusing, open []seat
	for _, s := range seats {
		// Without an enforced quota no claim is held, so no write must come first: the grant is entered once the group has it.
		free := !s.enforced() || s.granted(c, s.quotas)
		if !free && !s.certain(id) {
			open = append(open, s)
			continue
		}
		said := s.evaluate(f, c, s.quotas)
		answer.Violations = append(answer.Violations, said.Violations...)
		switch {
		case free:
			s.forget(id)
		case said.Outcome == Granted:
			open = append(open, s)
		default:
			refusing = append(refusing, s)
			if answer.Outcome != Refused {
				answer.Outcome, answer.Problem = said.Outcome, orElse(answer.Problem, said.Problem)
			}
		}
	}
	answer.Violations = inOrder(answer.Violations, quotas)
	if len(refusing) > 0 {
		for _, s := range open {
			s.forget(id)
			s.count(c)
		}
		anew := false
		for _, s := range refusing {
			_, before := s.refused[id]
			s.forget(id)
			s.count(c)
			s.refused[id] = struct{}{}
			anew = anew || !before
		}
		if answer.Outcome == Refused {
			answer.Problem = ""
		}
		for _, s := range seats {
			again = s.looksAgain(c) && anew || again
		}
		return answer, again
	}
	if len(open) == 0 {
		return answer, false
	}
	for _, s := range open[1:] {
		s.forget(id) // its turn comes later
	}
	return open[0].claim(c, l.opts.Now()), false
}

// orElse returns a, or b if a is empty.
func orElse(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

// inOrder sorts violations by the order of their policies.
func inOrder(violations []policy.Violation, quotas []*policy.Policy) []policy.Violation {
	order := make(map[string]int, len(quotas))
	for i, p := range quotas {
		order[p.Name()] = i
	}
	slices.SortStableFunc(violations, func(a, b policy.Violation) int { return order[a.Policy] - order[b.Policy] })
	return violations
}

// Check returns from memory the violations of quotas if a group becomes next; old is nil for a new group. Admission uses it as advice: two groups
// that ask at the same time can both pass, and the reconciler then holds one.
func (l *Ledger) Check(ctx context.Context, r policy.Requester, old, next *v1alpha1.VmGroup) []policy.Violation {
	set, ok := l.opts.Lister.Policies(ctx)
	if !ok {
		return nil
	}
	quotas := set.Quotas(r)
	id := Key{r.Member, next.UID}
	l.mu.Lock()
	defer l.mu.Unlock()
	var violations []policy.Violation
	for _, s := range l.seats(quotas, r) {
		var granted policy.Usage
		if old != nil {
			granted = policy.UsageOf(old.Spec)
		}
		if e, ok := s.entry(id); ok {
			granted = granted.Max(e.granted())
		}
		for _, p := range s.quotas {
			used := usedByOthers(&s.stored.State, s.totals, keyOf(p, r), id).Minus(adoptable(&s.stored.State, keyOf(p, r), r, next))
			violations = append(violations, p.CheckQuota(r, next.Name, next.Spec, policy.UsageOf(next.Spec), granted, used)...)
		}
	}
	return inOrder(violations, quotas)
}
