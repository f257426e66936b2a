package link

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/settings"
)

var (
	drawing   = regexp.MustCompile("(?s)```mermaid\nstateDiagram-v2\n(.*?)```")
	composite = regexp.MustCompile(`^state (\w+) \{$`)
	arrow     = regexp.MustCompile(`^(\w+|\[\*\]) --> (\w+|\[\*\])(?: *:.*)?$`)
)

// TestTheDrawingHasTheTransitionsOfTheTable: an arrow from a box represents one from each state in the box.
func TestTheDrawingHasTheTransitionsOfTheTable(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/reference/membercluster.md")
	if err != nil {
		t.Fatal(err)
	}
	found := drawing.FindSubmatch(page)
	if found == nil {
		t.Fatal("docs/reference/membercluster.md has no state diagram")
	}
	var drawn []string
	boxes, box := map[string][]string{}, ""
	for _, line := range strings.Split(strings.TrimSpace(string(found[1])), "\n") {
		line = strings.TrimSpace(line)
		if opens := composite.FindStringSubmatch(line); opens != nil {
			box = opens[1]
			continue
		}
		if line == "}" {
			box = ""
			continue
		}
		ends := arrow.FindStringSubmatch(line)
		if ends == nil {
			t.Fatalf("not understood: %q", line)
		}
		from := []string{ends[1]}
		if inside := boxes[ends[1]]; inside != nil {
			from = inside
		}
		for _, end := range ends[1:] {
			if box != "" && end != "[*]" && !slices.Contains(boxes[box], end) {
				boxes[box] = append(boxes[box], end)
			}
		}
		for _, from := range from {
			drawn = append(drawn, from+" --> "+ends[2])
		}
	}
	var coded []string
	for from, all := range next {
		for _, to := range all {
			coded = append(coded, fmt.Sprintf("%s --> %s", from, to))
		}
	}
	coded = append(coded, "[*] --> Queued", "Left --> [*]", "Ended --> [*]")
	for _, transition := range drawn {
		if !slices.Contains(coded, transition) {
			t.Errorf("the drawing has %s, and the table does not", transition)
		}
	}
	for _, transition := range coded {
		if n := len(slices.DeleteFunc(slices.Clone(drawn), func(one string) bool { return one != transition })); n != 1 {
			t.Errorf("the drawing has %s %d times", transition, n)
		}
	}
}

func TestEveryStateIsReachedAndCanEnd(t *testing.T) {
	reached := map[State]bool{}
	var reach func(State)
	reach = func(s State) {
		if !reached[s] {
			reached[s] = true
			for _, to := range next[s] {
				reach(to)
			}
		}
	}
	reach(Queued)
	if len(reached) != 15 {
		t.Errorf("%d states are reached: %v", len(reached), reached)
	}
	for s := range reached {
		switch {
		case s == Left || s == Ended:
			if len(next[s]) > 0 {
				t.Errorf("after %s comes %v", s, next[s])
			}
		case s != Ending && !slices.Contains(next[s], Ending):
			t.Errorf("a connection that is %s cannot be ended", s)
		}
		for _, to := range next[s] {
			// Readers of caches are notified before these end, and not while others are filled.
			if s.hasCaches() && !to.hasCaches() && !slices.Contains([]State{Disengaging, Refilling, Ending}, to) {
				t.Errorf("%s follows %s, and nothing ends the caches", to, s)
			}
			if to.hasCaches() && !s.hasCaches() && s != Syncing {
				t.Errorf("%s follows %s, and nothing fills the caches", to, s)
			}
		}
	}
}

func TestAConnectionThatEndsEntersNothingElse(t *testing.T) {
	p := newProvider(t, nil)
	c := newConnection(p, settings.Target{Name: "alpha"}, nil)
	p.connections["alpha"] = c
	c.move(Connecting)
	p.Stop("alpha")
	c.enter(Refused, &remote.Problem{})
	if got := p.Observe("alpha"); got.State != Ending || got.Problem != nil {
		t.Errorf("observed %+v", got)
	}
	if err := c.publish(nil, remote.APIs{}, "uid"); err == nil {
		t.Error("a connection that ends is published")
	}
	c.end()
	p.Stop("alpha")
	if got := p.Observe("alpha").State; got != Ended {
		t.Errorf("in the end it is %s", got)
	}
}

func TestAReplicaIsWarmOnceAnAttemptHasEnded(t *testing.T) {
	p := newProvider(t, nil)
	c := newConnection(p, settings.Target{Name: "alpha"}, nil)
	p.connections["alpha"] = c
	for _, step := range []struct {
		to   State
		warm bool
	}{
		{Connecting, false}, {Equipping, false}, {AwaitingLeader, true}, {Connecting, true}, {Refused, true}, {Connecting, true}, {Equipping, true},
		{Syncing, true}, {Engaging, true}, {Engaged, true}, {Silent, true}, {Refilling, false}, {Connecting, false}, {Refused, true},
	} {
		c.move(step.to)
		if got := p.Observe("alpha"); got.State != step.to || got.tried != step.warm || got.EngagedAt.IsZero() == step.to.Serves() {
			t.Errorf("%+v, want %+v", got, step)
		}
	}
}
