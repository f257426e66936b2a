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

// perPackage bounds the tests of one package; go test then prints what every goroutine was doing. It is for what hangs.
const perPackage = 30 * time.Minute

// step is one run of `go test`.
type step struct {
	label    string
	packages []string
	// dir of the module of the packages, if it is another one than the product's.
	dir string
	// tags are build tags, args more arguments of `go test`, binaryArgs those of the test binaries.
	tags             string
	args, binaryArgs []string
	// race has the tests built with the race detector, raceManager the operator that they start.
	race, raceManager bool
	// servers is set where API servers are needed, controllers where those of Kubernetes are, nodes where a whole node is.
	servers, controllers, nodes bool
	// sideBySide is how many packages run at the same time; 0 leaves it to Go.
	sideBySide int
	// crowded says that there are many more programs than cores.
	crowded bool
	// beside has it run at the same time as the step before it.
	beside bool
}

// flags are build flags, understood by `go list` as well.
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

// together groups steps that run at the same time. They are built with the same flags.
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

// runAll runs steps in their order, and those that run beside another with that one.
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

// run runs go test and hands what it says to results. It returns an error only where go test itself could not run. logs, if
// not nil, is told every line.
func (s step) run(ctx context.Context, results *results, logs io.Writer) error {
	// Vet is part of `make lint`, which comes first in CI: here it would take a fifth of the time.
	args := append([]string{"test", "-json", "-vet=off", "-timeout=" + perPackage.String()}, s.flags()...)
	if s.sideBySide > 0 {
		args = append(args, "-p="+strconv.Itoa(s.sideBySide))
	}
	if s.crowded {
		args = append(args, "-parallel="+strconv.Itoa(runtime.NumCPU()))
	}
	args = append(append(args, s.args...), s.packages...)
	if len(s.binaryArgs) > 0 {
		args = append(append(args, "-args"), s.binaryArgs...)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
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
	// Time is dearer here than memory.
	cmd.Env = append(cmd.Env, "GOGC=300")
	if s.crowded {
		// A dozen API servers that each use all cores take a fifth more of the cores' time for the same work.
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
		return nil // results tell
	case err != nil:
		return fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return nil
}

// raceDetector says why the race detector cannot be used, or nil.
func raceDetector(ctx context.Context) error {
	// No C compiler, one without the C library's headers, or a platform without the detector fails here.
	build := exec.CommandContext(ctx, "go", append(append([]string{"build"}, progress.Flags()...), "-race", "runtime/cgo")...)
	build.Env = progress.Environ(true)
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("a small program does not build with it; install gcc or clang to turn it on: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}
