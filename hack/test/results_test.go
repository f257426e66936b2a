package main

import (
	"strings"
	"testing"
	"time"
)

const said = `{"Action":"start","Package":"github.com/codeconnect/vmgroup-operator/internal/a"}
{"Action":"run","Package":"github.com/codeconnect/vmgroup-operator/internal/a","Test":"TestOne"}
{"Action":"output","Package":"github.com/codeconnect/vmgroup-operator/internal/a","Test":"TestOne","Output":"    one_test.go:7: got 3\n"}
{"Action":"run","Package":"github.com/codeconnect/vmgroup-operator/internal/a","Test":"TestOne/part"}
{"Action":"output","Package":"github.com/codeconnect/vmgroup-operator/internal/a","Test":"TestOne/part","Output":"    one_test.go:9: gone\n"}
{"Action":"fail","Package":"github.com/codeconnect/vmgroup-operator/internal/a","Test":"TestOne/part","Elapsed":0.1}
{"Action":"fail","Package":"github.com/codeconnect/vmgroup-operator/internal/a","Test":"TestOne","Elapsed":0.1}
{"Action":"output","Package":"github.com/codeconnect/vmgroup-operator/internal/a","Test":"TestTwo","Output":"output of a test that passed\n"}
{"Action":"pass","Package":"github.com/codeconnect/vmgroup-operator/internal/a","Test":"TestTwo","Elapsed":0.1}
{"Action":"output","Package":"github.com/codeconnect/vmgroup-operator/internal/a","Output":"the manager's last words\n"}
{"Action":"output","Package":"github.com/codeconnect/vmgroup-operator/internal/a","Output":"FAIL\n"}
{"Action":"fail","Package":"github.com/codeconnect/vmgroup-operator/internal/a","Elapsed":1.5}
{"Action":"start","Package":"github.com/codeconnect/vmgroup-operator/internal/b"}
{"Action":"output","Package":"github.com/codeconnect/vmgroup-operator/internal/b","Output":"ok  \tinternal/b\t(cached)\n"}
{"Action":"pass","Package":"github.com/codeconnect/vmgroup-operator/internal/b","Elapsed":0}
{"ImportPath":"internal/c","Action":"build-output","Output":"c.go:1: undefined: x\n"}
{"ImportPath":"internal/c","Action":"build-fail"}
{"Action":"start","Package":"github.com/codeconnect/vmgroup-operator/internal/c"}
{"Action":"output","Package":"github.com/codeconnect/vmgroup-operator/internal/c","Output":"FAIL\tinternal/c [build failed]\n"}
{"Action":"fail","Package":"github.com/codeconnect/vmgroup-operator/internal/c","Elapsed":0,"FailedBuild":"internal/c"}
`

func TestWhatFailedIsToldWithAllItSaidAndNothingElseIs(t *testing.T) {
	var out, table strings.Builder
	r := newResults(&out, false)
	if err := r.read(strings.NewReader(said), nil); err != nil {
		t.Fatal(err)
	}
	const want = `    one_test.go:9: gone
    one_test.go:7: got 3
the manager's last words
FAIL
FAIL	./internal/a	1.5s
ok  	./internal/b	(cached)
c.go:1: undefined: x
FAIL	internal/c [build failed]
FAIL	./internal/c	0.0s
`
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", out.String(), want)
	}
	if got, want := r.verdict(), "./internal/a TestOne/part, ./internal/a TestOne, ./internal/c"; got != want {
		t.Errorf("the verdict is %q, want %q", got, want)
	}
	r.table(&table)
	const wantTable = `test: 3 tests in 3 packages, 1 of them from the cache; seconds:
     1.5  ./internal/a
     0.0  ./internal/b
     0.0  ./internal/c
`
	if table.String() != wantTable {
		t.Errorf("the table is\n%s\nwant\n%s", table.String(), wantTable)
	}
}

func TestLongSilenceIsBroken(t *testing.T) {
	var out strings.Builder
	r := newResults(&out, false)
	now := time.Now()
	r.now = func() time.Time { return now }
	r.beat()
	r.take(event{Action: "start", Package: "x/slow"})
	now = now.Add(silence)
	r.beat()
	if got, want := out.String(), "test: still running: x/slow\n"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
}

func TestAPackageThatEndsWithoutItsTestsIsAFailure(t *testing.T) {
	var out strings.Builder
	r := newResults(&out, false)
	r.take(event{Action: "output", Package: "x", Test: "TestHangs", Output: "panic: test timed out\n"})
	r.take(event{Action: "fail", Package: "x", Test: "TestHangs"})
	r.take(event{Action: "output", Package: "y", Output: "no server could be started\n"})
	r.take(event{Action: "fail", Package: "y"})
	if got, want := r.verdict(), "x TestHangs, y"; got != want {
		t.Errorf("the verdict is %q, want %q", got, want)
	}
	for _, want := range []string{"timed out", "no server could be started"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q was not printed: %s", want, out.String())
		}
	}
}

func TestWhatAKilledPackagesTestsSaidIsPrinted(t *testing.T) {
	var out strings.Builder
	r := newResults(&out, false)
	r.take(event{Action: "output", Package: "x", Test: "TestPasses", Output: "fine\n"})
	r.take(event{Action: "pass", Package: "x", Test: "TestPasses"})
	r.take(event{Action: "output", Package: "x", Test: "TestHangs", Output: "SIGQUIT: quit\ngoroutine 7 [chan receive]:\n"})
	r.take(event{Action: "fail", Package: "x"})
	if !strings.Contains(out.String(), "goroutine 7 [chan receive]") || strings.Contains(out.String(), "fine") {
		t.Errorf("printed %s", out.String())
	}
}
