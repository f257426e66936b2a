package main

import (
	"strings"
	"testing"
)

func TestTheFailuresOfALongRunAreRepeatedAtItsEnd(t *testing.T) {
	var f failures
	for line := range strings.Lines(`ok  	example.com/a	0.1s
--- FAIL: TestOne (0.00s)
    one_test.go:7: got 3
        want 4
{"level":"info"}
    --- FAIL: TestTwo/part (0.00s)
        two_test.go:9: gone
FAIL
FAIL	example.com/b	0.1s
`) {
		f.add(line)
	}
	var out strings.Builder
	f.print(&out)
	const want = `test: what failed, once more:
--- FAIL: TestOne (0.00s)
    one_test.go:7: got 3
        want 4
    --- FAIL: TestTwo/part (0.00s)
        two_test.go:9: gone
`
	if out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
}
