package main

import (
	"slices"
	"testing"
)

func TestArgumentsOfGoTestArePassedOn(t *testing.T) {
	r, err := parse([]string{"-run", "TestX", "./internal/plan", "-v"})
	if err != nil || r.tier != standard || !slices.Equal(r.args, []string{"-run", "TestX", "-v"}) || !slices.Equal(r.packages, []string{"./internal/plan"}) {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestContradictionsAreRefused(t *testing.T) {
	for _, args := range [][]string{{"-fast", "-slow"}, {"-part", "1"}, {"-slow", "-part"}, {"-slow", "-part", "99"}, {"-pick"}, {"-slow", "./test/crash"}} {
		if r, err := parse(args); err == nil {
			t.Errorf("%v is understood as %+v", args, r)
		}
	}
}

func TestAFailureBelongsToTheStepThatRanIt(t *testing.T) {
	s := step{packages: []string{"./hack/image/...", "github.com/codeconnect/vmgroup-operator/internal/plan"}}
	for pkg, want := range map[string]bool{
		"github.com/codeconnect/vmgroup-operator/hack/image":      true,
		"github.com/codeconnect/vmgroup-operator/hack/image/oci":  true,
		"github.com/codeconnect/vmgroup-operator/internal/plan":   true,
		"github.com/codeconnect/vmgroup-operator/internal/policy": false,
	} {
		if s.has(pkg) != want {
			t.Errorf("%s: %v, want %v", pkg, !want, want)
		}
	}
}

func TestWhatIsTriedAgainIsChosenByItsOwnName(t *testing.T) {
	got := withoutRun([]string{"-run", "TestA", "-skip=TestB", "-count", "3", "-v"})
	if !slices.Equal(got, []string{"-v"}) {
		t.Errorf("got %v", got)
	}
}
