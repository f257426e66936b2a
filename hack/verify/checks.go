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

// pages checks that what the pages name exists, and that their links resolve.
func pages(ctx context.Context, root string, _ []string) error {
	command := exec.CommandContext(ctx, "go", append(append([]string{"test"}, progress.Flags()...), "./test/docs")...)
	command.Dir, command.Env = root, progress.Environ(false)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("  %w\n%s", err, lastBytes(out, 4000))
	}
	return nil
}

// homes matches home directories of people. Examples in documentation use ~ or $HOME.
var homes = regexp.MustCompile(`/(home|Users)/[A-Za-z0-9._-]+/`)

// machinePaths looks for paths that exist on the author's machine only: the repository, the home directory, the
// caches, and the home directory of anybody.
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

// names says whether a line has the path, and not only as the end of a longer one: in a checkout in /build, a line may
// well have example.com/build/version.
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

// inPaths are characters that are in the names of files and before a slash.
const inPaths = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-~*})>"

// ownPaths are the paths that must not appear, each with a slash at its end.
func ownPaths(ctx context.Context, root string) ([]string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMODCACHE", "GOCACHE").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w%s", err, stderrOf(err))
	}
	paths := append(strings.Fields(string(out)), root)
	// The directory above holds other work of the same person, unless it is one that every machine has.
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

// everywhere lists directories that may be named.
var everywhere = []string{"/", "/tmp", "/var/tmp", "/usr", "/opt", "/srv", "/home", "/Users", "/src", "/app"}

func lastBytes(b []byte, n int) []byte { return b[max(0, len(b)-n):] }
