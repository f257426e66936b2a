package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
	"github.com/codeconnect/vmgroup-operator/test/harness/progress"
)

// perPackage is the timeout of the tests of one package, for hung tests. Then go test prints the stacks of all goroutines.
const perPackage = 30 * time.Minute

// step is one run of `go test`.
type step struct {
	label    string
	packages []string
	// dir of the packages' module, if it is not the product's module.
	dir string
	// tags are build tags, args are more arguments of `go test`, and binaryArgs are arguments of the test binaries.
	tags             string
	args, binaryArgs []string
	// race builds the tests with the race detector. raceManager builds the operator that they start with it.
	race, raceManager bool
	// servers is set if the tests need API servers, controllers if they need Kubernetes' controllers, and nodes if they need a node.
	servers, controllers, nodes bool
	// offline runs the tests in a network namespace that has only loopback. It needs root on Linux.
	offline bool
	// browser is set if the tests need Chromium and Mermaid.
	browser bool
	// sideBySide is the number of packages that run at the same time. 0 means Go's default.
	sideBySide int
	// crowded means that many more programs than cores run.
	crowded bool
	// beside runs the step at the same time as the step before it.
	beside bool
}

// flags returns build flags, which `go list` accepts too.
func (s step) flags() []string {
	flags := progress.Flags()
	if s.race {
		flags = append(flags, "-race")
	}
	if s.tags != "" {
		flags = append(flags, "-tags="+s.tags)
	}
	return flags
}

// together groups steps that run at the same time. Their build flags are equal.
func together(steps []step) (groups [][]step) {
	for _, s := range steps {
		if last := len(groups) - 1; s.beside && last >= 0 {
			groups[last] = append(groups[last], s)
		} else {
			groups = append(groups, []step{s})
		}
	}
	return groups
}

// runAll runs the groups of steps in order. The steps of a group run at the same time.
func runAll(ctx context.Context, steps []step, results *results) error {
	for _, group := range together(steps) {
		running, groupCtx := errgroup.WithContext(ctx)
		for _, s := range group {
			fmt.Printf("test: %s\n", s.label)
			running.Go(func() error { return s.run(groupCtx, results, nil) })
		}
		if err := running.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// run runs go test and passes its output to results. It returns an error only if go test could not run. If logs is not nil, it receives
// every line.
func (s step) run(ctx context.Context, results *results, logs io.Writer) error {
	// Vet is part of `make lint`, which comes first in CI. Here it would take a fifth of the time.
	args := append([]string{"test", "-json", "-vet=off", "-timeout=" + perPackage.String()}, s.flags()...)
	if s.sideBySide > 0 {
		args = append(args, "-p="+strconv.Itoa(s.sideBySide))
	}
	if s.crowded || s.race {
		args = append(args, "-parallel="+strconv.Itoa(runtime.NumCPU()))
	}
	args = append(append(args, s.args...), s.packages...)
	if len(s.binaryArgs) > 0 {
		args = append(append(args, "-args"), s.binaryArgs...)
	}
	command := append([]string{"go"}, args...)
	if s.offline {
		command = append([]string{"unshare", "--net", "sh", "-c", `ip link set lo up && exec "$@"`, "sh"}, command...)
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Env = s.dir, progress.Environ(s.race)
	if s.servers {
		programs, err := assets.Ensure(ctx, os.Stderr)
		if err != nil {
			return err
		}
		cmd.Env = append(cmd.Env, "KUBEBUILDER_ASSETS="+programs)
	}
	if s.raceManager {
		cmd.Env = append(cmd.Env, progress.RaceVariable+"=1")
	}
	// Use more memory to save time.
	cmd.Env = append(cmd.Env, "GOGC=300")
	// A dozen API servers that each use all cores need a fifth more CPU time for the same work. With Go 1.26, the race detector crashes a program with a segmentation fault if
	// goroutines of a synctest bubble receive from timers on several cores at the same time: they share a context of the detector (golang/go#78156).
	if s.crowded || s.race {
		cmd.Env = append(cmd.Env, "GOMAXPROCS=1")
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("go test: %w", err)
	}
	readErr := results.read(out, logs)
	err = cmd.Wait()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case readErr != nil:
		return readErr
	case errors.As(err, &exit) && results.failed():
		return nil // results contains the failures
	case err != nil:
		return fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return nil
}

// raceDetector returns the reason why the race detector cannot be used, or nil.
func raceDetector(ctx context.Context) error {
	// This build fails without a C compiler or the C library's headers, and on a platform without the detector.
	build := exec.CommandContext(ctx, "go", append(append([]string{"build"}, progress.Flags()...), "-race", "runtime/cgo")...)
	build.Env = progress.Environ(true)
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("a small program does not build with it; install gcc or clang to turn it on: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}
