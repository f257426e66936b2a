package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/codeconnect/vmgroup-operator/test/assets"
)

// A package that is renamed must not leave its tier unnoticed.
func TestTheListsOfTiersNameWhatExists(t *testing.T) {
	for _, name := range slices.Concat(longest, raced, pure) {
		if info, err := os.Stat(filepath.Join("../..", name)); err != nil || !info.IsDir() {
			t.Errorf("%s is no directory: %v", name, err)
		}
	}
}

func TestWhatHasGoroutinesRunsWithTheRaceDetector(t *testing.T) {
	for name, want := range map[string]bool{
		"cmd/manager": true, "internal/quota": true, "internal/sharding": true, "test/world": true, "test/vcsim/sim": true,
		"internal/plan": false, "test/integration": false, "api/v1alpha1": false,
	} {
		if (testedPackage{path: assets.Module + "/" + name}).racy() != want {
			t.Errorf("%s: %v, want %v", name, !want, want)
		}
	}
}

func TestAPartOfWhatNeedsANodeIsThatPartOnly(t *testing.T) {
	packages := func(part int) (all []string) {
		for _, s := range e2eSteps(request{tier: e2e, part: part}) {
			if s.tags != "e2e" || !s.nodes {
				t.Errorf("part %d: %s is built with tags %q, nodes %v", part, s.label, s.tags, s.nodes)
			}
			all = append(all, s.packages...)
		}
		return all
	}
	if got := packages(1); !slices.Equal(got, []string{"./test/e2e"}) {
		t.Errorf("part 1 is %v", got)
	}
	if all, parts := packages(0), slices.Concat(packages(1), packages(2)); len(packages(2)) < 2 || !slices.Equal(all, parts) {
		t.Errorf("all is %v, the parts %v", all, parts)
	}
}
