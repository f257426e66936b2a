//go:build unix

// Command planted restores bugs in the operator one at a time, runs the tests, and reports the tests that detect each.
// It fails if no test detects a bug, because such tests are not worth their cost. The bugs are the
// patches in bugs.
//
//	go run ./hack/planted                        all bugs
//	go run ./hack/planted -bug random-names      one
//	go run ./hack/planted -suites unit           only the tests beside the code
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
	"github.com/codeconnect/vmgroup-operator/test/harness/progress"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	bug := flag.String("bug", "", "the one bug to plant")
	names := flag.String("suites", "unit,whole", "unit: the tests beside the code; whole: crash points, outages and stories with real servers; model: the model world alone")
	flag.Parse()
	if err := run(ctx, *bug, strings.Split(*names, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "test-planted:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, only string, names []string) error {
	bugs, err := bugs()
	if err != nil {
		return err
	}
	if only != "" {
		if !slices.Contains(bugs, only) {
			return fmt.Errorf("there is no bug %q; there are %v", only, bugs)
		}
		bugs = []string{only}
	}
	for _, name := range names {
		if _, ok := suites[name]; !ok {
			return fmt.Errorf("there is no suite %q; there are unit, whole and model", name)
		}
	}
	programs, err := assets.Ensure(ctx, os.Stderr)
	if err != nil {
		return err
	}
	began := time.Now()
	table := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintf(table, "BUG\t%s\n", strings.ToUpper(strings.Join(names, "\t")))
	unnoticed := 0
	dir, err := os.MkdirTemp("", "planted-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for i, bug := range bugs {
		row, noticed := []string{bug}, false
		overlay, err := plant(ctx, bug, filepath.Join(dir, bug))
		if err != nil {
			return err
		}
		for _, name := range names {
			fmt.Printf("%s: %d of %d, %s, %s\n", progress.Elapsed(time.Since(began)), i+1, len(bugs), bug, name)
			caught, err := suites[name].notice(ctx, programs, overlay)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", bug, name, err)
			}
			noticed = noticed || caught != ""
			if caught == "" {
				caught = "-"
			}
			fmt.Println("  " + caught)
			row = append(row, caught)
		}
		if !noticed {
			unnoticed++
		}
		_, _ = fmt.Fprintln(table, strings.Join(row, "\t"))
	}
	fmt.Println()
	if err := table.Flush(); err != nil {
		return err
	}
	if unnoticed > 0 {
		return fmt.Errorf("%d of %d bugs went unnoticed", unnoticed, len(bugs))
	}
	fmt.Printf("test-planted: ok, all %d bugs were noticed, after %s\n", len(bugs), progress.Elapsed(time.Since(began)))
	return nil
}

var errBroken = errors.New("the tests could not be run")
