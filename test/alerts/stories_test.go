package alerts

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/rulefmt"
)

func rulesOf(t *testing.T) []rulefmt.Rule {
	t.Helper()
	list, err := chartRules()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// records are the recording rules of a list.
func records(list []rulefmt.Rule) []rulefmt.Rule {
	return slices.DeleteFunc(slices.Clone(list), func(r rulefmt.Rule) bool { return r.Record == "" })
}

func ruleOf(t *testing.T, list []rulefmt.Rule, alert string) rulefmt.Rule {
	t.Helper()
	i := slices.IndexFunc(list, func(r rulefmt.Rule) bool { return r.Alert == alert })
	if i < 0 {
		t.Fatalf("there is no alert %s", alert)
	}
	return list[i]
}

func allStories() []story {
	return slices.Concat(vcenterStories, memberStories, groupStories, operatorStories)
}

func (s story) name() string {
	return strings.ReplaceAll(strings.TrimSpace(s.alert+" "+s.says), " ", "_")
}

func (s story) play(t *testing.T, fault time.Duration, sets ...[]rulefmt.Rule) []result {
	t.Helper()
	line, err := newTimeline(s, fault)
	if err != nil {
		t.Fatal(err)
	}
	results, err := play(line, s.length(fault), settle+fault-step, sets...)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

func TestEveryAlertHasAStory(t *testing.T) {
	told := map[string]bool{}
	for _, s := range allStories() {
		told[s.alert] = true
	}
	for _, rule := range rulesOf(t) {
		if rule.Alert != "" && !told[rule.Alert] {
			t.Errorf("alert %s has no story", rule.Alert)
		}
	}
}

// TestStories runs each story twice: with a fault that lasts until the alert fires and longer, and with one that ends
// just before. Mutants of the rule run over the same samples; each must differ in one of the two runs.
func TestStories(t *testing.T) {
	list := rulesOf(t)
	unnoticed := newSurvivors()
	t.Run("all", func(t *testing.T) {
		for _, s := range allStories() {
			t.Run(s.name(), func(t *testing.T) {
				t.Parallel()
				rule := ruleOf(t, list, s.alert)
				changed := mutantsOf(t, rule)
				sets := [][]rulefmt.Rule{list}
				for _, m := range changed {
					sets = append(sets, []rulefmt.Rule{m.rule})
				}
				long := s.play(t, s.longFault(), sets...)
				s.checkLong(t, long[0])
				sets[0] = append(records(list), rule)
				var short []result
				if rule.For > 0 {
					short = s.play(t, s.shortFault(), sets...)
					if len(short[0].trace) > 0 {
						t.Errorf("a fault of %s is no alert yet, and these fire:\n%s", s.shortFault(), short[0].trace)
					}
				}
				for i, m := range changed {
					same := long[i+1].trace.sameAs(long[0].trace.of(s.alert))
					if len(short) > 0 {
						same = same && short[i+1].trace.sameAs(short[0].trace)
					}
					unnoticed.saw(s.alert+": "+m.what, same)
				}
			})
		}
	})
	for _, what := range unnoticed.list() {
		t.Errorf("no story notices this change of a rule: %s", what)
	}
}

// checkLong compares a run with the story's expectation.
func (s story) checkLong(t *testing.T, got result) {
	t.Helper()
	begins, ends := got.trace.of(s.alert).bounds()
	if want := settle + s.fires; begins != want {
		t.Errorf("it fires %s after the fault began, want %s", begins-settle, s.fires)
	}
	if want := settle + s.longFault() + s.resolves; ends != want {
		t.Errorf("it has ended %s after the end of the fault, want %s", ends-settle-s.longFault(), s.resolves)
	}
	var summaries []string
	for _, f := range got.seen {
		summaries = append(summaries, f.String())
	}
	if !slices.Equal(summaries, s.want) {
		t.Errorf("at the end of the fault these fire:\n%s\nwant\n%s", strings.Join(summaries, "\n"), strings.Join(s.want, "\n"))
	}
	if begins, ends := got.trace.bounds(); begins < settle || ends < 0 {
		t.Errorf("alerts fire before the fault, or do not end:\n%s", got.trace)
	}
}

func TestAHealthyFleetPagesNobody(t *testing.T) {
	list := rulesOf(t)
	for _, s := range quietStories {
		t.Run(s.name(), func(t *testing.T) {
			t.Parallel()
			s.resolves = time.Hour
			if got := s.play(t, s.lasts, list); len(got[0].trace) > 0 {
				t.Errorf("these fire:\n%s", got[0].trace)
			}
		})
	}
}
