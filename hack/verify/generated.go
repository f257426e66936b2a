package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// sources lists the committed files, and the files that can be committed, relative to root.
func sources(ctx context.Context, root string) ([]string, error) {
	// git only reads names here, so the owner of the checkout does not matter.
	list := exec.CommandContext(ctx, "git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("list the files of the repository with git: %w%s", err, stderrOf(err))
	}
	var files []string
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		// Deleted files stay in the list until the deletion is committed.
		if info, err := os.Lstat(filepath.Join(root, name)); err == nil && info.Mode().IsRegular() {
			files = append(files, name)
		}
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// generated regenerates everything in a copy of the tree and compares the files.
func generated(ctx context.Context, root string, files []string) error {
	dir, err := os.MkdirTemp("", "vmgroup-verify-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for _, name := range files {
		if err := copyFile(filepath.Join(root, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	for _, target := range []string{"generate", "manifests", "fmt"} {
		gnuMake := exec.CommandContext(ctx, "make", "--no-print-directory", target)
		gnuMake.Dir = dir
		gnuMake.Env = withoutMake(os.Environ())
		if out, err := gnuMake.CombinedOutput(); err != nil {
			return fmt.Errorf("make %s: %w\n%s", target, err, out)
		}
	}
	var problems []error
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if !slices.Contains(files, name) {
			problems = append(problems, fmt.Errorf("  %s is missing", name))
			return nil
		}
		return compare(ctx, root, dir, name, &problems)
	})
	return errors.Join(append(problems, err)...)
}

// compare adds a problem with a diff if the two versions of a file differ.
func compare(ctx context.Context, root, dir, name string, problems *[]error) error {
	before, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		return err
	}
	after, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil || bytes.Equal(before, after) {
		return err
	}
	// Without a diff program, the problem has only the name.
	diff, _ := exec.CommandContext(ctx, "diff", "-u", filepath.Join(root, name), filepath.Join(dir, name)).Output()
	const most = 4000
	*problems = append(*problems, fmt.Errorf("  %s is not up to date\n%s", name, diff[:min(most, len(diff))]))
	return nil
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, content, info.Mode().Perm())
}

// withoutMake removes the variables that make passes to the make processes that it starts. This make is not one of them, and would warn
// about a job server that it cannot reach.
func withoutMake(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return name == "MAKEFLAGS" || name == "MFLAGS" || name == "MAKELEVEL"
	})
}

// stderrOf returns the error output of a failed command.
func stderrOf(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return ": " + strings.TrimSpace(string(exit.Stderr))
	}
	return ""
}
