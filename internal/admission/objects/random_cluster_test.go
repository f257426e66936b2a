//go:build unix && !fast

package objects

import (
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/test/harness/policydice"
)

// TestRandomRequestsAreJudgedAsOnTheHub compares the expressions in a real API server with the code that the webhook and the
// reconciler run.
func TestRandomRequestsAreJudgedAsOnTheHub(t *testing.T) {
	m := newBench(t)
	d := policydice.New(1)
	tally := map[string]int{}
	for i := range 300 {
		c := d.Request(i)
		if ok := m.each(t, c.Name, func(b *bench) {
			t := b.t
			b.label(c.Namespace, c.NamespaceLabels)
			group := b.prepare(c)
			limits, err := Compile(c.Set(), c.Member)
			if err != nil {
				t.Fatal(err)
			}
			b.limit(limits)
			got := reason(b.request(c, group))
			invalid, refused := verdict(c)
			switch {
			case invalid:
				tally["invalid"]++
				if got == "" {
					t.Errorf("a group that the schema refuses is accepted")
				}
			case len(refused) == 0:
				tally["allowed"]++
				if got != "" {
					t.Errorf("refused: %s", got)
				}
			default:
				tally[string(refused[0].Rule)]++
				if refused[0].Policy == "" && len(c.Policies) > 0 {
					tally["a default limit beside policies"]++
				}
				if want := refused[0].Error(); got != want {
					t.Errorf("answer %q, want %q", got, want)
				}
			}
		}); !ok {
			t.Logf("%+v", c)
		}
	}
	t.Log(tally)
	for _, rule := range []policy.Rule{
		"allowed", "a default limit beside policies", policy.RuleUnusable, policy.RuleCPUMaximum, policy.RuleCPUMinimum, policy.RuleMemoryMaximum,
		policy.RuleDiskRequired, policy.RuleDataDiskMaximum, policy.RuleReplicasMaximum, policy.RuleReplicasMinimum, policy.RuleTemplateDenied, policy.RuleTemplateAllowed,
	} {
		if tally[string(rule)] == 0 {
			t.Errorf("no request had the answer %s: the comparison says nothing of it", rule)
		}
	}
}
