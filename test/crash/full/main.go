//go:build unix

// Command full tries all crash points, or those that its flags select, and reports the number of passed ones. It
// records each result in a file at once: after an interruption it resumes there, unless the manager has changed
// since.
//
//	go run ./test/crash/full                                  all points
//	go run ./test/crash/full -point up-20/vcenter:CloneVM_Task#7/crash-after
//	go run ./test/crash/full -sample 500 -seed 7
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/codeconnect/vmgroup-operator/test/crash"
	"github.com/codeconnect/vmgroup-operator/test/harness/progress"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

type options struct {
	lanes, sample   int
	seed            uint64
	point, scenario string
	ledger          string
	again           bool
}

func main() {
	ctrl.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	var o options
	flag.IntVar(&o.lanes, "lanes", 3, "trials at a time")
	flag.IntVar(&o.sample, "sample", 0, "number of points to try; 0 for all")
	flag.Uint64Var(&o.seed, "seed", 1, "chooses the sample")
	flag.StringVar(&o.point, "point", "", "name of the one point to try")
	flag.StringVar(&o.scenario, "scenario", "", "name of the one scenario to try")
	flag.StringVar(&o.ledger, "ledger", "bin/test-crash.jsonl", "file of results")
	flag.BoolVar(&o.again, "again", false, "try points again that went well before")
	flag.Parse()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "test-crash:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (err error) {
	binary, err := stack.BuildManager(ctx, os.Stderr)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	hash := sha256.Sum256(content)
	ledger, err := crash.OpenLedger(o.ledger, hex.EncodeToString(hash[:8]))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ledger.Close()) }()

	fmt.Printf("starting %d lanes: an API server, a vCenter simulator, proxies and a manager each\n", o.lanes)
	runner, err := crash.NewRunner(ctx, o.lanes, os.Stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, runner.Stop()) }()
	scenarios := slices.DeleteFunc(crash.Scenarios(), func(s crash.Scenario) bool {
		return (o.scenario != "" && s.Name != o.scenario) || (o.point != "" && !strings.HasPrefix(o.point, s.Name+"/"))
	})
	points, err := runner.Learn(ctx, scenarios)
	if err != nil {
		return err
	}
	chosen, err := choose(points, o)
	if err != nil {
		return err
	}
	todo := slices.DeleteFunc(slices.Clone(chosen), func(p crash.Point) bool { return !o.again && o.point == "" && ledger.Passed(p) })
	fmt.Printf("%d points in %d scenarios; %d chosen, of which %d went well before\n", len(points), len(scenarios), len(chosen), len(chosen)-len(todo))
	return try(ctx, runner, scenarios, todo, ledger)
}

func choose(points []crash.Point, o options) ([]crash.Point, error) {
	switch {
	case o.point != "":
		p, ok := crash.Find(points, o.point)
		if !ok {
			return nil, fmt.Errorf("there is no point %q", o.point)
		}
		return []crash.Point{p}, nil
	case o.sample > 0:
		return crash.Sample(points, o.sample, o.seed), nil
	}
	// In random order, so that an interrupted run has covered all parts.
	return crash.Sample(points, len(points), o.seed), nil
}

func try(ctx context.Context, runner *crash.Runner, scenarios []crash.Scenario, todo []crash.Point, ledger *crash.Ledger) error {
	began := time.Now()
	bar := progress.NewBar(os.Stdout, "crash points", len(todo))
	failed := 0
	err := runner.Try(ctx, scenarios, todo, func(r crash.Result) error {
		if len(r.Wrong) > 0 {
			failed++
			bar.Say(fmt.Sprintf("WRONG at %s: %s\nThe manager's last words:\n%s\n", r.Point, strings.Join(r.Wrong, "; "), r.Log))
		}
		bar.Step(fmt.Sprintf("%d wrong", failed))
		return ledger.Add(crash.Entry{Point: r.String(), Reached: r.Reached, Wrong: r.Wrong, Seconds: r.Took.Seconds()})
	})
	bar.Close()
	reached, wrong := 0, 0
	for _, e := range ledger.Entries() {
		if e.Reached {
			reached++
		}
		if len(e.Wrong) > 0 {
			wrong++
		}
	}
	fmt.Printf("%d points tried with this manager, %d of them reached, %d wrong; this run took %s\n",
		len(ledger.Entries()), reached, wrong, progress.Elapsed(time.Since(began)))
	if err != nil {
		return err
	}
	if wrong > 0 {
		return fmt.Errorf("%d points went wrong", wrong)
	}
	fmt.Println("test-crash: ok")
	return nil
}
