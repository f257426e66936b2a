//go:build unix

package crash

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// standardSeed selects the points unless CRASH_SEED does.
const standardSeed = 3

// errEnough ends a run with CRASH_FAIL_FAST at the first failed point.
var errEnough = errors.New("one point went wrong, and that is enough")

// TestASampleOfCrashPoints kills, disconnects or confuses the manager at calls selected by a seed. A failure names
// its point; CRASH_POINT=<name> replays that one, CRASH_SEED=<number> selects others.
func TestASampleOfCrashPoints(t *testing.T) {
	stack.Story(t)
	ctrl.SetLogger(logr.Discard())
	seed, err := ParseSeed(os.Getenv("CRASH_SEED"), standardSeed)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	runner, err := NewRunner(ctx, lanes, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := runner.Stop(); err != nil {
			t.Error(err)
		}
	}()
	scenarios := slices.DeleteFunc(Scenarios(), func(s Scenario) bool { return s.Long && !long })
	points, err := runner.Learn(ctx, scenarios)
	if err != nil {
		t.Fatal(err)
	}
	// There are more points than needed: the number of the manager's calls depends on timing, and a trial can lack
	// a call of the learning run.
	chosen, more := Sample(points, sampled, seed), Sample(points, 2*sampled, seed)[min(sampled, len(points)):]
	if name := os.Getenv("CRASH_POINT"); name != "" {
		p, ok := Find(points, name)
		if !ok {
			t.Fatalf("there is no point %s", name)
		}
		chosen, more = []Point{p}, nil
	}
	reached, wrong, tried := 0, 0, 0
	var missed []string
	try := func(points []Point) {
		t.Helper()
		err := runner.Try(ctx, scenarios, points, func(r Result) error {
			tried++
			if r.Reached {
				reached++
			} else {
				missed = append(missed, r.String())
			}
			if len(r.Wrong) > 0 {
				wrong++
				t.Errorf("%s: %s\nreplay it with CRASH_POINT=%s; the manager's last words:\n%s",
					r.Point, strings.Join(r.Wrong, "; "), r.Point, r.Log)
			}
			if wrong > 0 && os.Getenv("CRASH_FAIL_FAST") != "" {
				return errEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			t.Fatal(err)
		}
	}
	enough := len(chosen) * 3 / 4
	try(chosen)
	for wrong == 0 && reached < enough && len(more) > 0 {
		n := min(enough-reached, len(more))
		try(more[:n])
		more = more[n:]
	}
	t.Logf("%d of %d points tried, %d reached, seed %d; not reached: %s", tried, len(points), reached, seed, strings.Join(missed, " "))
	if wrong == 0 && reached < enough {
		t.Errorf("only %d of %d points were reached: what was learned does not fit the manager", reached, tried)
	}
}
