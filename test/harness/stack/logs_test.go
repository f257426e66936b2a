//go:build unix

package stack

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLogsOfAllManagersAreRead(t *testing.T) {
	const good = `{"level":"info","ts":"2026-01-02T12:00:00Z","msg":"it runs"}` + "\n"
	for log, want := range map[string]string{
		good + good:               "",
		good + "panic: no JSON\n": "line 2: invalid character",
		strings.Replace(good, "it runs", "password "+Password, 1): "line 1: it has a secret",
		"": "is empty",
	} {
		dir := t.TempDir()
		first, last := &Process{Log: filepath.Join(dir, "first.log")}, &Process{Log: filepath.Join(dir, "last.log")}
		for p, content := range map[*Process]string{first: good, last: log} {
			if err := os.WriteFile(p.Log, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for name, s := range map[string]*Stack{
			"a manager": {Manager: last},
			"replicas":  {Replicas: []*Replica{{Process: first}, {Process: last}}},
		} {
			lines, err := s.CheckLogs()
			if (want == "") != (err == nil) || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "first.log")) {
				t.Errorf("%s, %q: got %v, want %q", name, log, err, want)
			}
			if want == "" && lines != strings.Count(log, "\n")+len(s.Replicas)/2 {
				t.Errorf("%s: %d lines were read", name, lines)
			}
		}
	}
}
