package alerts

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

// mutant is a rule with one change.
type mutant struct {
	what string
	rule rulefmt.Rule
}

// mutantsOf are the rule without its `for`, with each number multiplied and divided by ten, and the rule that never
// fires.
func mutantsOf(t *testing.T, rule rulefmt.Rule) []mutant {
	t.Helper()
	silent := rule
	silent.Expr = "vector(0) > 1"
	all := []mutant{{"it never fires", silent}}
	if rule.For > 0 {
		at := rule
		at.For = 0
		all = append(all, mutant{"without `for`", at})
	}
	for i := range numbers(t, rule.Expr) {
		for _, factor := range []float64{10, 0.1} {
			expr, err := syntax.ParseExpr(rule.Expr)
			if err != nil {
				t.Fatal(err)
			}
			number := literals(expr)[i]
			before := number.Val
			number.Val *= factor
			if before == 0 && factor > 1 {
				number.Val = factor
			}
			if number.Val == before {
				continue
			}
			changed := rule
			changed.Expr = expr.String()
			all = append(all, mutant{fmt.Sprintf("number %d, %g, becomes %g", i+1, before, number.Val), changed})
		}
	}
	return all
}

// literals are the numbers of an expression, in the order in which they are visited.
func literals(expr parser.Expr) (found []*parser.NumberLiteral) {
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if number, ok := node.(*parser.NumberLiteral); ok {
			found = append(found, number)
		}
		return nil
	})
	return found
}

func numbers(t *testing.T, text string) []*parser.NumberLiteral {
	t.Helper()
	expr, err := syntax.ParseExpr(text)
	if err != nil {
		t.Fatal(err)
	}
	return literals(expr)
}

// survivors are mutants that no story has noticed so far.
type survivors struct {
	mu   sync.Mutex
	same map[string]bool
}

func newSurvivors() *survivors { return &survivors{same: map[string]bool{}} }

// saw records whether a story saw no difference. One that sees a difference is enough.
func (s *survivors) saw(what string, same bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, known := s.same[what]
	s.same[what] = same && (before || !known)
}

func (s *survivors) list() (left []string) {
	for what, same := range s.same {
		if same {
			left = append(left, what)
		}
	}
	slices.Sort(left)
	return left
}
