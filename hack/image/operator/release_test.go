package operator_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/hack/image/operator"
	"github.com/codeconnect/vmgroup-operator/test/harness/clone"
)

// repository creates a git repository with one commit from 2026-11-21 20:00 UTC and returns the commit's name.
func repository(t *testing.T) (dir, commit string) {
	t.Helper()
	dir = t.TempDir()
	clone.Isolate(t, dir)
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	git := func(args ...string) string {
		command := exec.Command("git", append([]string{"-c", "user.name=n", "-c", "user.email=e@example.com"}, args...)...)
		command.Dir = dir
		command.Env = append(os.Environ(), "GIT_COMMITTER_DATE=2026-11-21T20:00:00Z", "GIT_AUTHOR_DATE=2000-01-01T00:00:00Z")
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q")
	git("add", "file")
	git("commit", "-q", "-m", "one")
	return dir, git("rev-parse", "HEAD")
}

func TestReleaseIsThatOfTheCommit(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "")
	dir, commit := repository(t)
	release, err := operator.NewRelease(t.Context(), dir, "v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	const committed = 1795291200
	if release.Version != "1.2.3" || release.Revision != commit || release.Created.Unix() != committed {
		t.Errorf("release %+v, want 1.2.3, %s and %d", release, commit, committed)
	}

	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("two\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "1000")
	release, err = operator.NewRelease(t.Context(), dir, "v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	if release.Revision != commit+"-dirty" || release.Created.Unix() != 1000 {
		t.Errorf("release %+v, want a changed %s and the time of SOURCE_DATE_EPOCH", release, commit)
	}
}

func TestReleaseWithoutGitHasNoRevision(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "")
	dir := t.TempDir()
	clone.Isolate(t, dir)
	release, err := operator.NewRelease(t.Context(), dir, "v1.2.3")
	if err != nil || release.Revision != "" || !release.Created.IsZero() {
		t.Errorf("release %+v (%v), want only a version", release, err)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "yesterday")
	if _, err := operator.NewRelease(t.Context(), dir, "v1.2.3"); err == nil || !strings.Contains(err.Error(), "SOURCE_DATE_EPOCH") {
		t.Errorf("error %v, want one that names SOURCE_DATE_EPOCH", err)
	}
}
