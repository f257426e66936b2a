//go:build slow

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/codeconnect/vmgroup-operator/test/harness/clone"
)

// TestTwoBuildsOfOneCommitAreEqual makes a release twice: in two directories, with caches of Go that are empty, and with other variables of
// the environment. Only the downloaded modules are shared, which go.sum fixes.
func TestTwoBuildsOfOneCommitAreEqual(t *testing.T) {
	root, version := thisTree(t)
	committed := filepath.Join(t.TempDir(), "committed") // once, because the tree can change during the test
	if err := clone.Commit(t.Context(), root, committed); err != nil {
		t.Fatal(err)
	}
	sums := make([]string, 0, 2)
	for name, environment := range map[string][]string{
		"checkout":            nil,
		"another/clone of it": {"TZ=Asia/Tokyo", "LANG=tr_TR.UTF-8", "GOAMD64=v3", "SOURCE_DATE_EPOCH=1000", "HOSTNAME=elsewhere"},
	} {
		dir, cache := filepath.Join(t.TempDir(), name), filepath.Join(t.TempDir(), "cache")
		if err := os.CopyFS(dir, os.DirFS(committed)); err != nil {
			t.Fatal(err)
		}
		command := exec.CommandContext(t.Context(), "go", "run", "./hack/release", "-version", version, "-platform", "linux/"+runtime.GOARCH)
		command.Dir, command.Env = dir, append(append(clone.Environ(), "GOFLAGS=-trimpath -buildvcs=false", "CGO_ENABLED=0", "GOCACHE="+cache), environment...)
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		content, err := os.ReadFile(filepath.Join(dir, "dist", "release", "v"+version, sumsFile))
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, string(content))
		if err := os.RemoveAll(cache); err != nil { // a gigabyte
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(sums[0], sums[1]); diff != "" {
		t.Errorf("the files differ (-first +second):\n%s", diff)
	}
}
