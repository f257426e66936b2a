package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

func TestFilesThatChangedOrAreNewAreTaken(t *testing.T) {
	t.Chdir(t.TempDir())
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	write := func(name, content string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q")
	for _, name := range []string{"internal/plan/a.go", "internal/plan/b.go", "internal/plan/a_test.go", "internal/other/c.go"} {
		write(name, "package p\n")
	}
	git("add", "-A")
	git("commit", "-q", "-m", "first")
	write("internal/plan/a.go", "package p // changed\n")
	git("commit", "-q", "-a", "-m", "second")
	write("internal/plan/d.go", "package p\n")
	write("internal/plan/a_test.go", "package p // changed\n")
	write("internal/other/c.go", "package p // changed\n")

	changed, err := changedSince(t.Context(), "HEAD~1", "internal/plan")
	slices.Sort(changed)
	if want := []string{"a.go", "a_test.go", "d.go"}; err != nil || !slices.Equal(changed, want) {
		t.Errorf("%v, error %v; want %v", changed, err, want)
	}
	if files, err := sources("internal/plan"); err != nil || !slices.Equal(files, []string{"a.go", "b.go", "d.go"}) {
		t.Errorf("%v, error %v", files, err)
	}
	if _, err := changedSince(t.Context(), "nonsense", "internal/plan"); err == nil {
		t.Error("a commit that does not exist is taken")
	}
}

func TestOnlyPurePackagesAreTaken(t *testing.T) {
	if got, err := chosen([]string{"./internal/plan/"}); err != nil || !slices.Equal(got, []string{"internal/plan"}) {
		t.Errorf("%v, error %v", got, err)
	}
	if _, err := chosen([]string{"./cmd/manager"}); err == nil {
		t.Error("a package with servers is taken")
	}
}
