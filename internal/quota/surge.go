package quota

import (
	"sort"
	"strings"

	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// askSurge claims the usage of spec, plus as many surge VMs for an update as all ledgers accept from memory. A ledger that refuses some of them is
// asked again when there is room. No claim waits for that: the usage of spec is granted meanwhile.
func (l *Ledger) askSurge(f facts, c Claim, quotas []*policy.Policy) (answer Answer, again bool) {
	base, seats := c.Wants, l.seats(quotas, c.Requester)
	n := sort.Search(len(c.Surges), func(i int) bool { // a refusal for some VMs is a refusal for more
		c.Wants = c.Surges[i]
		refusing, _ := l.refusing(f, c, seats)
		return len(refusing) > 0
	})
	var short []seat
	said := ""
	if n < len(c.Surges) {
		c.Wants = c.Surges[n]
		short, said = l.refusing(f, c, seats)
	}
	if c.Wants = base; n > 0 {
		c.Wants = c.Surges[n-1]
	}
	answer, again = l.ask(f, c, quotas)
	if n > 0 && (answer.Outcome == Refused || answer.Outcome == Unavailable) {
		problem := answer.Problem
		c.Wants, n, said = base, 0, orElse(said, problem)
		answer, again = l.ask(f, c, quotas)
		answer.Problem = orElse(answer.Problem, problem)
	}
	for _, s := range short {
		s.short[c.Key()] = struct{}{}
	}
	if answer.Outcome == Granted {
		answer.Surge, answer.Short = n, said
	}
	return answer, again
}

// refusing returns the books that refuse a claim from memory, with their messages.
func (l *Ledger) refusing(f facts, c Claim, seats []seat) (refusing []seat, said string) {
	if !c.grows() || !l.settled() {
		return nil, ""
	}
	var sentences []string
	for _, s := range seats {
		if !s.enforced() || s.granted(c, s.quotas) || !s.certain(c.Key()) {
			continue
		}
		answer := s.evaluate(f, c, s.quotas)
		if answer.Outcome == Granted {
			continue
		}
		refusing = append(refusing, s)
		for _, v := range answer.Violations {
			if v.Enforced {
				sentences = append(sentences, v.Error())
			}
		}
		if answer.Problem != "" {
			sentences = append(sentences, answer.Problem)
		}
	}
	return refusing, strings.Join(sentences, "; ")
}
