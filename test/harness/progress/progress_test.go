package progress_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/test/harness/progress"
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

// TestBuildDoesNotAskGit builds in a checkout that git rejects, such as one of another owner.
func TestBuildDoesNotAskGit(t *testing.T) {
	t.Setenv("GOFLAGS", "")
	t.Setenv("GOENV", "off")
	dir := module(t, "package main\n\nfunc main() {}\n")
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, build := range []progress.GoBuild{{Output: filepath.Join(dir, "out")}, {TestDependencies: true}} {
		build.Label, build.Dir, build.Packages, build.Out = "building", dir, []string{"."}, &bytes.Buffer{}
		if err := build.Run(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestFailedBuildQuotesTheCompiler(t *testing.T) {
	dir := module(t, "package main\n\nfunc main() { missing() }\n")
	err := progress.GoBuild{Label: "building", Dir: dir, Packages: []string{"."}, Out: &bytes.Buffer{}}.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "main.go:3:15: undefined: missing") {
		t.Errorf("got %v, want the compiler's message", err)
	}
}

// TestBuildAsksAProxyAgain uses a module proxy that fails once, and does not have another version.
func TestBuildAsksAProxyAgain(t *testing.T) {
	var zipped bytes.Buffer
	archive := zip.NewWriter(&zipped)
	for name, content := range map[string]string{"go.mod": "module example.com/dep\n", "dep.go": "package dep\n"} {
		file, err := archive.Create("example.com/dep@v1.0.0/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(file, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	var asked atomic.Bool
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !asked.Swap(true):
			http.Error(w, "busy", http.StatusServiceUnavailable)
		case !strings.HasPrefix(r.URL.Path, "/example.com/dep/@v/v1.0.0."):
			http.NotFound(w, r)
		case strings.HasSuffix(r.URL.Path, ".zip"):
			_, _ = w.Write(zipped.Bytes())
		case strings.HasSuffix(r.URL.Path, ".mod"):
			_, _ = io.WriteString(w, "module example.com/dep\n")
		default:
			_, _ = io.WriteString(w, `{"Version": "v1.0.0"}`)
		}
	}))
	t.Cleanup(proxy.Close)
	dir := module(t, "package main\n\nimport _ \"example.com/dep\"\n\nfunc main() {}\n")
	require := func(version string) {
		t.Helper()
		gomod := "module example\n\ngo 1.26\n\nrequire example.com/dep " + version + "\n"
		if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(gomod), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var said bytes.Buffer
	build := progress.GoBuild{Label: "building", Dir: dir, Packages: []string{"."}, Out: &said, Env: []string{
		"GOPROXY=" + proxy.URL, "GOSUMDB=off", "GOFLAGS=-mod=mod -modcacherw", "GOMODCACHE=" + t.TempDir(), "GOWORK=off", "GONOPROXY=", "GOPRIVATE=",
	}}
	require("v1.0.0")
	if err := build.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said.String(), "trying again in 2s: 503") {
		t.Errorf("it says %q", said.String())
	}
	said.Reset()
	require("v1.0.1")
	if err := build.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "404") || strings.Contains(said.String(), "again") {
		t.Errorf("got %v after %q, want an immediate error for a missing version", err, said.String())
	}
}

func TestCanceledBuildSaysSo(t *testing.T) {
	dir := module(t, "package main\n\nfunc main() {}\n")
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("Ctrl-C was pressed")
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
