// Command test runs `go test` on the whole repository and never stays silent for long. It first gets
// kube-apiserver and etcd, then compiles all dependencies with a visible count, then runs the tests and says every
// half minute that they are still running. The race detector is on wherever it can be built. Arguments are passed
// on to `go test`; without a package among them, it tests ./...
//
//	go run ./hack/test
//	go run ./hack/test -run TestControlPlane ./test/localcluster
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/codeconnect/vmgroup-operator/test/assets"
	"github.com/codeconnect/vmgroup-operator/test/localcluster/machine"
	"github.com/codeconnect/vmgroup-operator/test/progress"
)

const (
	// perPackage bounds the tests of one package; go test then prints what every goroutine was doing. The longest take eleven
	// minutes on two cores. A bound is for what hangs: a machine that is slow, or has other work, must not meet it.
	perPackage = 45 * time.Minute
	// total bounds everything, builds included: forty minutes on two cores with empty caches.
	total = 3 * time.Hour
)

func main() {
	began := time.Now()
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "test: FAILED after %s: %v\n", progress.Elapsed(time.Since(began)), err)
		os.Exit(1)
	}
	fmt.Printf("test: ok after %s\n", progress.Elapsed(time.Since(began)))
}

// tools builds what tests would build unseen. A node is built only where one can run.
func tools(ctx context.Context) error {
	names := []string{"cert-manager", "helm"}
	if machine.Preflight() == nil {
		names = append(names, "kube-node", "containerd")
	}
	for _, name := range names {
		if _, err := assets.Tool(ctx, name, os.Stderr); err != nil {
			return err
		}
	}
	return nil
}

func run(args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeoutCause(ctx, total, fmt.Errorf("not done within %s", total))
	defer cancel()
	programs, err := assets.Ensure(ctx, os.Stderr)
	if err != nil {
		return err
	}
	fmt.Printf("test: kube-apiserver and etcd are in %s\n", programs)
	if err := tools(ctx); err != nil {
		return err
	}

	flags := []string{"-buildvcs=false"}
	if err := raceDetector(ctx); err != nil {
		fmt.Printf("test: NOTE: running WITHOUT the race detector: %v\n", err)
	} else {
		fmt.Println("test: the race detector is on")
		flags = append(flags, "-race")
	}
	packages := slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return !strings.HasPrefix(arg, "./") })
	if len(packages) == 0 {
		packages = []string{"./..."}
		args = append(args, packages...)
	}
	if err := warm(ctx, "test: compiling dependencies", flags, packages); err != nil {
		return err
	}
	// Tests of the whole start the manager as users do: built without the race detector.
	if err := warm(ctx, "test: compiling the manager's dependencies", nil, []string{"./cmd/..."}); err != nil {
		return err
	}
	fmt.Println("test: compiling and running the tests; each package prints its line when it is done")
	return goTest(ctx, programs, append(flags, args...))
}

// warm compiles what the tests of packages import from other modules, for the compilation inside `go test` is silent.
func warm(ctx context.Context, label string, flags, packages []string) error {
	return progress.GoBuild{
		Label: label, Flags: flags, Packages: packages, TestDependencies: true,
		Hint: "about 4 minutes on two cores, and only the first time",
	}.Run(ctx)
}

// raceDetector says why the race detector cannot be used, or nil.
func raceDetector(ctx context.Context) error {
	cgo, err := exec.CommandContext(ctx, "go", "env", "CGO_ENABLED").Output()
	if err != nil {
		return fmt.Errorf("go env: %w", err)
	}
	if strings.TrimSpace(string(cgo)) != "1" {
		return errors.New("it needs cgo, which is off or has no C compiler; install gcc or clang to turn it on")
	}
	// A compiler without the C library's headers, or a platform without the detector, fails here.
	if out, err := exec.CommandContext(ctx, "go", "build", "-race", "runtime/cgo").CombinedOutput(); err != nil {
		return fmt.Errorf("a small program does not build with it: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// goTest runs go test and passes its lines through.
func goTest(ctx context.Context, programs string, args []string) error {
	args = append([]string{"test", "-timeout", perPackage.String()}, args...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), "KUBEBUILDER_ASSETS="+programs)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	pulse := newPulse(os.Stdout)
	defer pulse.stop()
	cmd.Stdout, cmd.Stderr = pulse, pulse
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		pulse.failures.print(os.Stdout)
		return fmt.Errorf("go test: %w", err)
	}
	return nil
}
