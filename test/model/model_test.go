package model

import (
	"flag"
	"runtime/debug"
	"strings"
	"testing"
)

var (
	histories = flag.Int("model.histories", 500, "how many random histories are run")
	seed      = flag.Uint64("model.seed", 1, "the seed of the first history; each next one has the next seed")
	survey    = flag.Bool("model.survey", false, "do not end with the first history that breaks a rule; print which rules are broken how often")
	logged    = flag.Bool("model.log", false, "print the log of the shrunk run")
)

// TestRandomHistories runs histories in a world that shares nothing with the operator's own simulators.
func TestRandomHistories(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(800)) // a world is small, and soon forgotten
	broken := map[string][]uint64{}
	for i := range *histories {
		if *survey {
			if v, _ := Run(generate(*seed+uint64(i)), false); v != nil {
				broken[v.Rule] = append(broken[v.Rule], *seed+uint64(i))
				t.Logf("seed %d: %s", *seed+uint64(i), v)
			}
			continue
		}
		if failed(t, generate(*seed+uint64(i))) {
			return
		}
	}
	for rule, seeds := range broken {
		t.Errorf("%s: %d, first %v", rule, len(seeds), seeds[:min(len(seeds), 5)])
	}
}

// failed reports a history that breaks a rule, shrunk.
func failed(t *testing.T, h History) bool {
	t.Helper()
	v, _ := Run(h, false)
	if v == nil {
		return false
	}
	small, v := Shrink(h, v)
	_, log := Run(small, true)
	if !*logged && len(log) > 40 {
		log = log[len(log)-40:]
	}
	t.Errorf("%s\n%s\nrepeat it with -model.seed=%d -model.histories=1 -model.log\n%s", v, small, h.Seed, strings.Join(log, "\n"))
	return true
}

// TestEveryKindOfEventCanHappen: each is in a theme, and each name in a theme is one.
func TestEveryKindOfEventCanHappen(t *testing.T) {
	themed := map[string]bool{}
	for _, theme := range themes {
		for _, kind := range theme {
			if themed[kind] = true; kinds[kind] == nil {
				t.Errorf("there is no event %s", kind)
			}
		}
	}
	for kind := range kinds {
		if !themed[kind] {
			t.Errorf("event %s never happens", kind)
		}
	}
}
