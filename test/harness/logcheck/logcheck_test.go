package logcheck

import (
	"errors"
	"strings"
	"testing"
)

func TestWrongLinesAreFound(t *testing.T) {
	const good = `{"level":"info","ts":"2026-01-02T12:00:00.5Z","msg":"it runs"}` + "\n"
	for log, want := range map[string]string{
		"":           "",
		good + good:  "",
		good + `{"l`: "",
		good + `{"level":"error","ts":"2026-01-02T12:00:00Z","msg":"it fails","error":"why"}` + "\n": "",
		strings.Replace(strings.Replace(good, "info", "debug", 1), `"}`, `","error":"not yet"}`, 1):  "",
		good + "panic: no JSON\n":                          "line 2: invalid character 'p'",
		good + "\n":                                        "line 2: unexpected end of JSON input",
		`{"level":"info","msg":"it runs"}` + "\n":          "line 1: it has no message or no time",
		strings.Replace(good, "info", "warn", 1):           `line 1: its level is "warn"`,
		strings.Replace(good, "info", "error", 1):          "line 1: level error and key error",
		strings.Replace(good, "it runs", "canary runs", 1): "line 1: it has a secret",
		strings.Replace(good, `"}`, `","error":"x"}`, 1):   "line 1: level error and key error",
	} {
		got := errors.Join(Problems([]byte(log), func(text string) bool { return strings.Contains(text, "canary") })...)
		if (want == "") != (got == nil) || got != nil && (!strings.HasPrefix(got.Error(), want) || strings.Contains(got.Error(), "canary")) {
			t.Errorf("%q: got %v, want %q", log, got, want)
		}
	}
	if got := Problems([]byte(strings.Repeat("x\n", 20)), func(string) bool { return false }); len(got) != most {
		t.Errorf("%d problems are named", len(got))
	}
}
