// Command mutants makes small changes to the pure packages, one at a time, and prints each change that no test detects. A line with
// LIVED shows a gap in the tests or a change without effect; a developer must decide. It is slow: each change runs the tests of its
// package.
//
//	go run ./hack/mutants                              # files that differ from the last commit but one, or are new
//	go run ./hack/mutants -base v1.2.0                 # files that changed since
//	go run ./hack/mutants -all ./internal/plan         # every file of a package
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
	"github.com/codeconnect/vmgroup-operator/test/harness/progress"
)

// pure are packages with decisions only. Their tests need no servers and take seconds.
var pure = []string{"internal/group", "internal/plan", "internal/policy", "internal/quota", "internal/sharding/protocol"}

func main() {
	base := flag.String("base", "HEAD~1", "commit to compare with")
	all := flag.Bool("all", false, "take all files, changed or not")
	flag.Parse()
	if err := run(*base, *all, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(base string, all bool, packages []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	packages, err := chosen(packages)
	if err != nil {
		return err
	}
	gremlins, err := assets.Tool(ctx, "gremlins", os.Stderr)
	if err != nil {
		return err
	}
	for _, dir := range packages {
		files, err := sources(dir)
		if err != nil {
			return err
		}
		if !all {
			changed, err := changedSince(ctx, base, dir)
			if err != nil {
				return err
			}
			if files = slices.DeleteFunc(files, func(name string) bool { return !slices.Contains(changed, name) }); len(files) == 0 {
				fmt.Printf("== %s: no file differs from %s; -all takes every file\n", dir, base)
				continue
			}
		}
		fmt.Printf("== %s: %s\n", dir, strings.Join(files, ", "))
		if err := mutate(ctx, gremlins, dir, files); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
	}
	return nil
}

// chosen returns the requested packages, or all pure packages.
func chosen(asked []string) ([]string, error) {
	if len(asked) == 0 {
		return pure, nil
	}
	packages := make([]string, 0, len(asked))
	for _, name := range asked {
		dir := filepath.ToSlash(filepath.Clean(name))
		if !slices.Contains(pure, dir) {
			return nil, fmt.Errorf("%s is not one of %s", name, strings.Join(pure, ", "))
		}
		packages = append(packages, dir)
	}
	return packages, nil
}

// sources returns the names of the non-test files of a package.
func sources(dir string) ([]string, error) {
	found, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s has no Go files; run this at the top of the repository", dir)
	}
	files := make([]string, 0, len(found))
	for _, file := range found {
		if name := filepath.Base(file); !strings.HasSuffix(name, "_test.go") {
			files = append(files, name)
		}
	}
	return files, nil
}

// changedSince returns the files of a package that are new or differ from base.
func changedSince(ctx context.Context, base, dir string) ([]string, error) {
	var names []string
	for _, args := range [][]string{
		{"diff", "--name-only", "--relative=" + dir, base, "--", dir},
		{"ls-files", "--others", "--exclude-standard", "--", dir},
	} {
		out, err := exec.CommandContext(ctx, "git", args...).Output()
		if err != nil {
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				err = fmt.Errorf("%w: %s", err, exit.Stderr)
			}
			return nil, fmt.Errorf("git %s: %w", args[0], err)
		}
		for name := range strings.Lines(string(out)) {
			names = append(names, filepath.Base(strings.TrimSpace(name)))
		}
	}
	return names, nil
}

// mutate changes these files of a package, without packages below it. The tool has a flag for files to omit, and none for files to include.
// Its own detection of changed files works only at the top of a module.
func mutate(ctx context.Context, gremlins, dir string, files []string) error {
	others, err := sources(dir)
	if err != nil {
		return err
	}
	args := []string{"unleash", "./" + dir, "--tags=fast", "--output-statuses=lt", "--workers=2", "--timeout-coefficient=20", "-E", "/"}
	for _, name := range others {
		if !slices.Contains(files, name) {
			args = append(args, "-E", "^"+regexp.QuoteMeta(name)+"$")
		}
	}
	cmd := exec.CommandContext(ctx, gremlins, args...)
	cmd.Env = progress.Environ(false)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}
