//go:build unix

package crash

import (
	"slices"
	"strings"
	"testing"
)

var (
	clone = Site{VCenter, "CloneVM_Task", true}
	read  = Site{VCenter, "RetrievePropertiesEx", false}
	patch = Site{Kubernetes, "patch vmgroups/status", true}
)

func TestACallThatWritesHasAPointForEachModeAndOneThatReadsHasOne(t *testing.T) {
	points := Enumerate("s", []Site{clone, read, clone, patch, read})
	if len(points) != 3*len(modes)+2 {
		t.Fatalf("%d points: %v", len(points), points)
	}
	for _, name := range []string{"s/vcenter:CloneVM_Task#2/crash-after", "s/kubernetes:patch_vmgroups.status#1/hang"} {
		if p, ok := Find(points, name); !ok || p.String() != name {
			t.Errorf("there is no point %s in %v", name, points)
		}
	}
	if _, ok := Find(points, "s/vcenter:CloneVM_Task#3/error"); ok {
		t.Error("a third clone was found in two")
	}
}

func TestASampleIsTheSameForASeedAndHasSomethingOfEverything(t *testing.T) {
	points := append(Enumerate("a", slices.Repeat([]Site{clone}, 40)), Enumerate("b", []Site{patch})...)
	one := Sample(points, 10, 1)
	if !slices.Equal(one, Sample(points, 10, 1)) {
		t.Error("a seed gives two samples")
	}
	if slices.Equal(one, Sample(points, 10, 2)) {
		t.Error("two seeds give one sample")
	}
	kinds := map[string]bool{}
	for _, p := range one {
		kinds[p.Scenario+string(p.Mode)] = true
	}
	if len(kinds) != 10 {
		t.Errorf("10 points of 10 kinds are of %d kinds: %v", len(kinds), one)
	}
	if all := Sample(points, 1000, 1); len(all) != len(points) {
		t.Errorf("a sample of more than all has %d of %d", len(all), len(points))
	}
}

func TestATrapFiresOnceAtItsCall(t *testing.T) {
	var trap trap
	point := Point{Site: clone, N: 2, Mode: Error}
	if _, hit := trap.arrive(clone); hit {
		t.Error("a trap that is not armed fires")
	}
	trap.arm(&point)
	fired := ""
	for _, site := range []Site{clone, read, patch, clone, clone} {
		if _, hit := trap.arrive(site); hit {
			fired += "!"
		} else {
			fired += "."
		}
	}
	trace, reached := trap.disarm()
	if fired != "...!." || !reached || len(trace) != 5 {
		t.Errorf("fired %q, reached %t, trace %v", fired, reached, trace)
	}
	if _, err := ParseSeed("x", 1); err == nil {
		t.Error("x is a seed")
	}
	if seed, err := ParseSeed("", 7); err != nil || seed != 7 {
		t.Errorf("no seed is %d, %v", seed, err)
	}
	if !strings.HasPrefix(point.String(), "/vcenter:") {
		t.Error(point.String())
	}
}
