package progress

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestTextIsFoldedBetweenWordsAndNothingIsLost(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", []string{"> "}},
		{"one", []string{"> one"}},
		{"one two three", []string{"> one two", "  three"}},
		{"✓ötwo three", []string{"> ✓ötwo", "  three"}},
		{"a-word-that-is-too-long x", []string{"> a-word-t", "  hat-is-t", "  oo-long", "  x"}},
		{"one\ntwo", []string{"> one", "  two"}},
	} {
		want := slices.Clone(c.want)
		for i := range want {
			want[i] = strings.TrimRight(want[i], " ")
		}
		if got := Fold(c.text, "> ", "  ", 10); !slices.Equal(got, want) {
			t.Errorf("%q is folded to %q, want %q", c.text, got, want)
		}
	}
}

// TestNoLineOfABuildIsWrapped uses a label and a hint of the maximum length.
func TestNoLineOfABuildIsWrapped(t *testing.T) {
	var out bytes.Buffer
	l := newLine(&out, "the operator with the race detector, and everything that its tests import from elsewhere")
	l.say(l.label + ": 2345 packages to compile; a few minutes on two cores, and only the first time")
	l.start = time.Now().Add(-time.Hour)
	l.set("package 1234 of 2345")
	l.show()
	l.close("failed")
	lines := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
	if len(lines) < 4 {
		t.Errorf("only %d lines were printed: %q", len(lines), lines)
	}
	for _, line := range lines {
		if utf8.RuneCountInString(line) > Columns {
			t.Errorf("%d columns: %s", utf8.RuneCountInString(line), line)
		}
	}
}
