package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
)

// The test must fail if a renamed package leaves its tier.
func TestTheListsOfTiersNameWhatExists(t *testing.T) {
	for _, name := range slices.Concat(longest, longestUnits, inProcess, pure, []string{layersModule, drawingsModule}) {
		if info, err := os.Stat(filepath.Join("../..", name)); err != nil || !info.IsDir() {
			t.Errorf("%s is no directory: %v", name, err)
		}
	}
}

func TestWhatHasGoroutinesRunsWithTheRaceDetector(t *testing.T) {
	for name, want := range map[string]bool{
		"internal/server": true, "internal/quota": true, "internal/sharding": true, "test/world": true, "test/harness/vcsim/sim": true,
		"internal/plan": false, "test/integration": false, "api/v1alpha1": false,
	} {
		if (testedPackage{path: assets.Module + "/" + name}).racy() != want {
			t.Errorf("%s: %v, want %v", name, !want, want)
		}
	}
}
