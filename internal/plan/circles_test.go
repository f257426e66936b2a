package plan

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestNothingGoesRoundInCircles: under any persistent obstacle, after half an hour nothing is
// retried without a pause, and VMs are not created and removed repeatedly.
func TestNothingGoesRoundInCircles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := inTrouble(t)
		s.clones, s.others = 99, 99
		s.unfit, s.noRoom = rapid.Bool().Draw(t, "unfit"), rapid.Bool().Draw(t, "no room")
		for range 200 {
			s.step(nil)
			s.tick()
		}
		again := map[string]int{}
		s.watch = func(_ Input, p Plan) {
			for _, a := range p.Actions {
				again[string(a.Kind)+" "+a.Name]++
			}
		}
		for range 100 {
			s.step(nil)
			s.tick()
		}
		for what, n := range again {
			if n > 8 {
				t.Fatalf("%s is done %d times\n%s\n%s", what, n, strings.Join(s.trail, "\n"), s.why)
			}
		}
	})
}
