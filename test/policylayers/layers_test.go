package policylayers

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/test/harness/policydice"
)

var (
	seed  = flag.Uint64("layers.seed", 1, "the seed of the first case; each has its own")
	cases = flag.Int("layers.cases", 3_000, "how many cases to draw")
	stop  = flag.Bool("layers.stop", false, "end with the first case that fails")
)

// trial is one case: policies, and a request about a group.
type trial struct {
	server *Server
	dice   policydice.Dice
	tally  map[string]int
	// wrong are the differences between the layers.
	wrong []string
	about []any
}

func (t *trial) fail(format string, args ...any) {
	t.wrong = append(t.wrong, fmt.Sprintf(format, args...))
}

// TestNoTwoLayersJudgeAGroupDifferently draws policies and groups. It compares the API servers of hub and member,
// the operator's reading and its data for the member, the hub's webhook and the reconciler. Repeat a failed case
// with -layers.seed and -layers.cases=1.
func TestNoTwoLayersJudgeAGroupDifferently(t *testing.T) {
	// The libraries allocate much and keep little: garbage collection would take a third of the time.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	server, err := NewServer()
	if err != nil {
		t.Fatal(err)
	}
	tally := map[string]int{}
	failed := 0
	for i := range *cases {
		one := &trial{server: server, dice: policydice.New(*seed + uint64(i)), tally: tally}
		if err := one.run(t.Context()); err != nil {
			one.fail("the case cannot be judged: %v", err)
		}
		for _, wrong := range one.wrong {
			t.Errorf("case %d, seed %d: %s", i+1, *seed+uint64(i), wrong)
		}
		if len(one.wrong) > 0 {
			for _, about := range one.about {
				text, _ := json.MarshalIndent(about, "", " ")
				t.Logf("%s", text)
			}
			if failed++; *stop || failed == 40 {
				break
			}
		}
	}
	t.Logf("%d cases, seeds from %d: %v", *cases, *seed, tally)
	if *cases < 3000 || t.Failed() {
		return
	}
	for _, kind := range slices.Concat(slices.Collect(maps.Keys(said)), []string{
		string(policy.RuleUnusable), string(policy.RuleCPUMaximum), string(policy.RuleCPUMinimum), string(policy.RuleMemoryMaximum), string(policy.RuleMemoryMinimum), string(policy.RuleDiskRequired), string(policy.RuleDataDiskMaximum),
		string(policy.RuleReplicasMaximum), string(policy.RuleReplicasMinimum), string(policy.RuleTemplateDenied), string(policy.RuleTemplateAllowed),
	}) {
		if tally[kind] == 0 {
			t.Errorf("no case was about %q: the comparison says nothing of it", kind)
		}
	}
}

// said are kinds of cases that a meaningful comparison requires.
var said = map[string]bool{
	keptThoughRefused: true, schemaRefuses: true, undone: true, leftToTheHub: true, carriedOut: true, heldAndSaid: true, within: true,
}

const (
	keptThoughRefused = "a policy that the schema refuses is stored"
	schemaRefuses     = "the schema refuses a group"
	undone            = "an edit is taken back"
	leftToTheHub      = "an undo that only the hub can judge"
	carriedOut        = "what is accepted is admitted"
	heldAndSaid       = "what is accepted is held, and the forecast says so"
	within            = "what is accepted needs no new admission"
)
