package progress_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/test/progress"
)

// module writes a module with one package and returns its directory.
func module(t *testing.T, source string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{"go.mod": "module example\n\ngo 1.26\n", "main.go": source} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestBuildWritesItsOutput(t *testing.T) {
	dir := module(t, "package main\n\nfunc main() {}\n")
	output := filepath.Join(dir, "out")
	var said bytes.Buffer
	build := progress.GoBuild{
		Label: "building", Hint: "many", Dir: dir, Output: output, Packages: []string{"."}, Out: &said,
	}
	if err := build.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(output); err != nil {
		t.Error(err)
	}
	if strings.Contains(said.String(), "many") {
		t.Errorf("one package was announced as many: %q", said.String())
	}
}

func TestFailedBuildQuotesTheCompiler(t *testing.T) {
	dir := module(t, "package main\n\nfunc main() { missing() }\n")
	err := progress.GoBuild{Label: "building", Dir: dir, Packages: []string{"."}, Out: &bytes.Buffer{}}.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "main.go:3:15: undefined: missing") {
		t.Errorf("got %v, want the compiler's message", err)
	}
}

func TestCanceledBuildSaysSo(t *testing.T) {
	dir := module(t, "package main\n\nfunc main() {}\n")
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("somebody pressed Ctrl-C")
	cancel(reason)
	err := progress.GoBuild{Label: "building", Dir: dir, Packages: []string{"."}, Out: &bytes.Buffer{}}.Run(ctx)
	if !errors.Is(err, reason) {
		t.Errorf("got %v, want the reason of the cancellation", err)
	}
}

func TestElapsed(t *testing.T) {
	for d, want := range map[time.Duration]string{
		400 * time.Millisecond: "0s", 59 * time.Second: "59s", 125 * time.Second: "2m05s", 62 * time.Minute: "1h02m",
	} {
		if got := progress.Elapsed(d); got != want {
			t.Errorf("Elapsed(%v) = %s, want %s", d, got, want)
		}
	}
}
