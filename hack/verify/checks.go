package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
	"github.com/codeconnect/vmgroup-operator/test/harness/progress"
)

// tidy checks every module of the repository with `go mod tidy -diff`, which writes nothing.
func tidy(ctx context.Context, root string, files []string) error {
	var problems []error
	for _, name := range files {
		if filepath.Base(name) != "go.mod" {
			continue
		}
		command := exec.CommandContext(ctx, "go", "mod", "tidy", "-diff")
		command.Dir = filepath.Join(root, filepath.Dir(name))
		if out, err := command.CombinedOutput(); err != nil {
			problems = append(problems, fmt.Errorf("  %s: %w\n%s", name, err, lastBytes(out, 4000)))
		}
	}
	return errors.Join(problems...)
}

// kustomizations builds every kustomization below config/.
func kustomizations(ctx context.Context, root string, files []string) error {
	kustomize, err := assets.Tool(ctx, "kustomize", os.Stderr)
	if err != nil {
		return err
	}
	var problems []error
	for _, name := range files {
		if filepath.Base(name) != "kustomization.yaml" {
			continue
		}
		command := exec.CommandContext(ctx, kustomize, "build", filepath.Dir(name))
		command.Dir = root
		out, err := command.Output()
		if err == nil && len(bytes.TrimSpace(out)) == 0 {
			err = errors.New("it has no objects")
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("  %s: %w%s", filepath.Dir(name), err, stderrOf(err)))
		}
	}
	return errors.Join(problems...)
}

// pages checks that the names in the pages exist and that their links resolve.
func pages(ctx context.Context, root string, _ []string) error {
	command := exec.CommandContext(ctx, "go", append(append([]string{"test"}, progress.Flags()...), "./test/docs")...)
	command.Dir, command.Env = root, progress.Environ(false)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("  %w\n%s", err, lastBytes(out, 4000))
	}
	return nil
}

// homes matches home directories of users. Examples in documentation use ~ or $HOME.
var homes = regexp.MustCompile(`/(home|Users)/[A-Za-z0-9._-]+/`)

// machinePaths finds paths that exist only on the author's machine: the repository, the home directory, the caches, and the home
// directories of other users.
func machinePaths(ctx context.Context, root string, files []string) error {
	forbidden, err := ownPaths(ctx, root)
	if err != nil {
		return err
	}
	var problems []error
	for _, name := range files {
		content, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		for number, line := range strings.Split(string(content), "\n") {
			for _, path := range forbidden {
				if names(line, path) {
					problems = append(problems, fmt.Errorf("  %s:%d names %s", name, number+1, path))
				}
			}
			if match := homes.FindString(line); match != "" {
				problems = append(problems, fmt.Errorf("  %s:%d names %s", name, number+1, match))
			}
		}
	}
	return errors.Join(problems...)
}

// names reports whether a line contains the path, and not only as the end of a longer path: with a checkout in /build, a line can contain
// example.com/build/version.
func names(line, path string) bool {
	for from := 0; ; {
		at := strings.Index(line[from:], path)
		if at < 0 {
			return false
		}
		at += from
		if at == 0 || !strings.ContainsAny(line[at-1:at], inPaths) {
			return true
		}
		from = at + 1
	}
}

// inPaths are the characters in file names that can precede a slash.
const inPaths = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-~*})>"

// ownPaths returns the forbidden paths, each with a trailing slash.
func ownPaths(ctx context.Context, root string) ([]string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMODCACHE", "GOCACHE").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w%s", err, stderrOf(err))
	}
	paths := append(strings.Fields(string(out)), root)
	// The parent directory contains other work of the author, unless every machine has that directory.
	if above := filepath.Dir(root); !slices.Contains(everywhere, above) {
		paths = append(paths, above)
	}
	if home, err := os.UserHomeDir(); err == nil {
		paths = append(paths, home)
	}
	paths = slices.DeleteFunc(paths, func(path string) bool { return slices.Contains(everywhere, path) })
	for i := range paths {
		paths[i] = strings.TrimRight(paths[i], "/") + "/"
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

// everywhere lists allowed directories.
var everywhere = []string{"/", "/tmp", "/var/tmp", "/usr", "/opt", "/srv", "/home", "/Users", "/src", "/app"}

func lastBytes(b []byte, n int) []byte { return b[max(0, len(b)-n):] }
