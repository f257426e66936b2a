//go:build unix

package main

import (
	"strings"
	"testing"
)

// TestEveryBugCanBePlanted checks that the patches still apply to the current code.
func TestEveryBugCanBePlanted(t *testing.T) {
	names, err := bugs()
	if err != nil || len(names) < 15 {
		t.Fatalf("there are only the bugs %v: %v", names, err)
	}
	for _, bug := range names {
		if _, err := plant(t.Context(), bug, t.TempDir()); err != nil {
			t.Error(err)
		}
	}
}

func TestTheFirstFailureIsTheInnermostTestThatFailedFirst(t *testing.T) {
	const p = `"Package":"github.com/codeconnect/vmgroup-operator/internal/plan"`
	for name, c := range map[string]struct{ out, want string }{
		"none":      {`{"Action":"pass",` + p + `,"Test":"TestA"}`, ""},
		"a subtest": {"{\"Action\":\"fail\"," + p + `,"Test":"TestA/one"}` + "\n{\"Action\":\"fail\"," + p + `,"Test":"TestA"}`, "internal/plan TestA/one"},
		"set-up":    {"no JSON\n{\"Action\":\"fail\"," + p + "}", "internal/plan, before or after its tests"},
	} {
		got, err := firstFailure(strings.NewReader(c.out))
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.want)
		}
	}
}
