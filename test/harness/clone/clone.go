// Package clone makes a git repository of the current tree for tests of commands that need a commit. The tree can have changes that are not
// committed.
package clone

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Commit copies the files of the tree in root that git knows or would add into a directory that does not exist, and commits them. The same
// files give the same commit: author and time are fixed.
func Commit(ctx context.Context, root, dir string) error {
	out, err := git(ctx, root, "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(strings.TrimRight(out, "\x00"), "\x00") {
		if err := copyFile(filepath.Join(root, name), filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("copy %s: %w", name, err)
		}
	}
	for _, args := range [][]string{{"init", "--quiet"}, {"add", "--all"}, {"commit", "--quiet", "--message=The tree of a test"}} {
		if _, err := git(ctx, dir, args...); err != nil {
			return err
		}
	}
	return nil
}

// copyFile copies a file with its mode. A deleted file stays in git's list until the deletion is committed.
func copyFile(from, to string) error {
	info, err := os.Lstat(from)
	if err != nil || !info.Mode().IsRegular() {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	}
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, content, info.Mode().Perm())
}

// git runs a git command without the user's configuration, and apart from a repository that a hook names in the environment.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "git", args...)
	command.Dir = dir
	command.Env = append(Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		command.Env = append(command.Env, "GIT_"+who+"_NAME=test", "GIT_"+who+"_EMAIL=test@example.com", "GIT_"+who+"_DATE=2026-11-21T20:00:00Z")
	}
	out, err := command.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// Environ is the environment for commands in the clone: without variables of git and make, which are for the tree.
func Environ() []string {
	return slices.DeleteFunc(os.Environ(), func(entry string) bool {
		return strings.HasPrefix(entry, "GIT_") || strings.HasPrefix(entry, "MAKE") || strings.HasPrefix(entry, "MFLAGS=")
	})
}

// Isolate limits git to a directory for the rest of a test. The configuration of the user, a repository around the directory, and the repository that a git hook names
// in the environment have no effect.
func Isolate(t testing.TB, dir string) {
	t.Helper()
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "GIT_") {
			t.Setenv(name, "") // restores it at the end
			if err := os.Unsetenv(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(dir))
}
