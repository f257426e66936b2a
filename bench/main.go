//go:build unix

// Command bench measures the operator on real API servers and a simulated vCenter, compared to a port of its predecessor. It starts
// everything: a hub, member clusters, the simulator as a separate process, a proxy that counts SOAP calls, and the manager's own binary.
//
// BENCH in the environment names one benchmark. BENCH=list prints them. Without it, all are run. Figures go to standard output and to
// bench/results.json. The exit code is 0 if everything could be measured, even if a goal was missed.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
)

func main() {
	if err := start(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func start() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) > 1 && os.Args[1] == originalCommand {
		return runOriginal(ctx, os.Args[2:])
	}
	ctrl.SetLogger(logr.Discard()) // this program's clients need no log
	context.AfterFunc(ctx, stop)   // a second Ctrl-C ends the program immediately
	return run(ctx, os.Getenv("BENCH"))
}

func run(ctx context.Context, name string) error {
	if name == "list" {
		for _, b := range suite {
			fmt.Printf("%-14s %s\n", b.name, b.about)
		}
		return nil
	}
	chosen, err := choose(name)
	if err != nil {
		return err
	}
	root, err := assets.Root()
	if err != nil {
		return err
	}
	s := &session{began: time.Now(), root: root}
	s.say("%s, %d cores, load %s", runtime.Version(), runtime.NumCPU(), load())
	err = s.runAll(ctx, chosen)
	s.say("load %s", load())
	if len(s.results) == 0 {
		return err
	}
	// Print the results even if a benchmark failed.
	fmt.Println()
	return errors.Join(err, printTable(os.Stdout, s.results), writeResults(filepath.Join(root, "bench", "results.json"), s.results))
}

// load returns the machine's load over 1, 5 and 15 minutes. Figures of a busy machine are less reliable.
func load() string {
	content, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	fields := strings.Fields(string(content))
	return strings.Join(fields[:min(3, len(fields))], " ")
}
