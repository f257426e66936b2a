// Command test runs `go test` on the repository in one of five tiers and never stays silent for long. It gets kube-apiserver,
// etcd and the tools first, then compiles all dependencies with a visible count, then runs the tests, and ends with a table of
// packages and times.
//
//	go run ./hack/test                                          # everything but what takes long or needs a node: make test
//	go run ./hack/test -run TestPause ./test/integration
//	go run ./hack/test -fast                                    # what needs no servers: make test-fast
//	go run ./hack/test -race                                    # with the race detector what needs no servers: make test-race
//	go run ./hack/test -slow [-part 2]                          # what takes long, with a race-detecting manager: make test-slow
//	go run ./hack/test -pick 3f2a91c                            # some of it, chosen by a commit's hash
//	go run ./hack/test -e2e                                     # what needs a node, and what tests are made of: make test-e2e
//
// All other arguments are passed on to `go test`; without a package among them the tier's own are tested.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/codeconnect/vmgroup-operator/test/harness/progress"
)

// total bounds everything, builds included. It is for what hangs: a machine that is slow, or has other work, must not meet it.
const total = 3 * time.Hour

func main() {
	began := time.Now()
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "test: FAILED after %s: %v\n", progress.Elapsed(time.Since(began)), err)
		os.Exit(1)
	}
	fmt.Printf("test: ok after %s\n", progress.Elapsed(time.Since(began)))
}

func run(args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeoutCause(ctx, total, fmt.Errorf("not done within %s", total))
	defer cancel()
	asked, err := parse(args)
	if err != nil {
		return err
	}
	steps, err := asked.steps(ctx)
	if err != nil {
		return err
	}
	if err := prepare(ctx, steps); err != nil {
		return err
	}
	results := newResults(os.Stdout, slices.Contains(asked.args, "-v"))
	if err := runAll(ctx, steps, results); err != nil {
		return err
	}
	results.table(os.Stdout)
	if len(results.failures) == 0 {
		return nil
	}
	again(ctx, os.Stdout, steps, results.failures)
	return errors.New(results.verdict())
}
