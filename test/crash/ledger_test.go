//go:build unix

package crash

import (
	"os"
	"path/filepath"
	"testing"
)

func TestALedgerKnowsWhatWentWellWithThisBinaryAfterItWasCutOff(t *testing.T) {
	file := filepath.Join(t.TempDir(), "dir", "ledger.jsonl")
	good, bad := Point{Scenario: "good", Site: clone, N: 1, Mode: Hang}, Point{Scenario: "bad", Site: clone, N: 1, Mode: Hang}
	first, err := OpenLedger(file, "one")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []Entry{{Point: good.String(), Reached: true}, {Point: bad.String(), Wrong: []string{"vg-1 is missing"}}} {
		if err := first.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := first.file.WriteString(`{"binary":"one","point":"cut o`); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	for binary, want := range map[string]bool{"one": true, "two": false} {
		l, err := OpenLedger(file, binary)
		if err != nil {
			t.Fatal(err)
		}
		if l.Passed(good) != want || l.Passed(bad) {
			t.Errorf("with binary %s: good %t, bad %t", binary, l.Passed(good), l.Passed(bad))
		}
		if want && len(l.Entries()) != 2 {
			t.Errorf("%d entries, want 2", len(l.Entries()))
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}
