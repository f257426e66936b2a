package main

import (
	"slices"
	"testing"
)

func TestTheDrawingsOfThePagesAreRenderedWithTheTestsOfNodes(t *testing.T) {
	renders := func(s step) bool { return s.dir == drawingsModule && s.browser && slices.Contains(s.args, "-count=1") }
	if !slices.ContainsFunc(e2eSteps(request{tier: e2e}), renders) {
		t.Errorf("make test-e2e has no step in %s that is never taken from the cache", drawingsModule)
	}
}
