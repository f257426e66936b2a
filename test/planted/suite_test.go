//go:build unix

package main

import (
	"strings"
	"testing"
)

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
