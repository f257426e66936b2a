// Command test runs `go test` on the repository in one of five tiers, with regular output. It gets kube-apiserver,
// etcd and the tools first. Then it compiles all dependencies with a visible count and runs the tests. It ends with a table of
// packages and times.
//
//	go run ./hack/test                                          # all except slow tests and tests with a node: make test
//	go run ./hack/test -run TestPause ./test/integration
//	go run ./hack/test -fast                                    # tests without servers: make test-fast
//	go run ./hack/test -race                                    # tests without servers, with the race detector: make test-race
//	go run ./hack/test -slow [-part 2]                          # slow tests, with a race-detecting manager: make test-slow
//	go run ./hack/test -pick 3f2a91c                            # some slow tests, selected by a commit's hash
//	go run ./hack/test -e2e                                     # tests with a node, and tests of the test tools: make test-e2e
//
// It passes all other arguments to `go test`. Without a package among them, it tests the packages of the tier.
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

// total is the timeout of the whole run, builds included. It ends hung runs. A slow or busy machine must not reach it.
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
