//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// benchmark is one part of the suite.
type benchmark struct {
	name, about string
	// needs is its environment. Consecutive benchmarks with the same needs share it.
	needs *setup
	run   func(ctx context.Context, s *session, r *rig) error
}

var suite = []benchmark{
	{"scale-up", "a group of 48 VMs from nothing, 8 and 16 wide, against the bound and the original", &few, scaleUp},
	{"calls", "SOAP calls and API writes of such a group, against the original", &few, calls},
	{"fairness", "groups of one VM that arrive while a group of 48 scales up", &few, fairness},
	{"flaky", "VMs finished while 2 %, 10 % and a third of vCenter's calls fail", &few, flaky},
	{"rollout", "all 48 VMs of a group are replaced, eight at a time, against the bound", &few, rollOut},
	{"change", "a person powers off and deletes VMs of a group of 50", &few, change},
	{"tenants", "groups of one member beside 150 small ones of another", &shared, tenants},
	{"idle", "what 200 groups with 600 VMs cost while nothing happens, and memory of 300 groups", &many, idle},
	{"noop", "annotations of groups are touched, which changes nothing", &many, noop},
	{"memory", "memory of 250 and of 1,000 groups, beside the formula in the documentation", &thousand, memoryBySize},
	{"restart", "the manager is restarted with 1,000 groups", &thousand, restart},
	{"edited", "300 groups are edited at once, and groups of one VM come meanwhile", &edits, edited},
	{"replicas", "throughput of 1, 3 and 5 replicas, bound by vCenter and by what each replica can do", &several, replicas},
	{"movement", "groups that change hands when replicas come and go, and how evenly 1,000 groups are divided", &several, movement},
	{"failover", "replicas are killed, and stopped in the middle of their work", &several, handover},
	{"admission", "a create with the CRD alone, admission policies and webhooks, and the webhook under load with hostile requests", &doors, admission},
	{"hostile", "groups of one VM of one member while the API servers of others send as much as they can", &neighbors, hostileMembers},
	{"status", "kubectl vmgroup status of a fleet with 50 members", nil, fleetStatus},
	{"waiting-passes", "1,000 groups are taken over whose writes take 20 ms each", nil, waitingPasses},
	{"growth", "steps among 500 to 50,000 VMs, 200 to 20,000 groups and 32 to 3,200 tasks", nil, growth},
	{"micro", "the Go benchmarks of the planner and the vSphere code", nil, micro},
}

// choose returns the benchmarks of a comma-separated list of names, in the order of the suite. Without names, it returns all.
func choose(names string) ([]benchmark, error) {
	if names == "" {
		return suite, nil
	}
	wanted := strings.Split(names, ",")
	var chosen []benchmark
	for _, b := range suite {
		if i := slices.Index(wanted, b.name); i >= 0 {
			chosen = append(chosen, b)
			wanted = slices.Delete(wanted, i, i+1)
		}
	}
	if len(wanted) > 0 {
		return nil, fmt.Errorf("there is no benchmark %q; BENCH=list prints what there is", wanted[0])
	}
	return chosen, nil
}

// session is one run of the program.
type session struct {
	began   time.Time
	root    string
	results []result
}

func (s *session) say(format string, args ...any) {
	fmt.Printf("[%5.0fs] "+format+"\n", append([]any{time.Since(s.began).Seconds()}, args...)...)
}

// add records a figure and prints it.
func (s *session) add(name string, value float64, unit string, g goal, conditions string, args ...any) {
	r := judge(name, value, unit, g, fmt.Sprintf(conditions, args...))
	s.results = append(s.results, r)
	verdict := ""
	if r.OK != nil {
		verdict = ", goal " + r.Goal + ": " + r.verdict()
	}
	s.say("  %s = %s %s%s", r.Name, number(value), unit, verdict)
}

// runAll runs benchmarks. Consecutive ones with the same setup share it.
func (s *session) runAll(ctx context.Context, chosen []benchmark) (err error) {
	var r *rig
	stop := func() {
		if r != nil {
			err = errors.Join(err, r.stop())
			r = nil
		}
	}
	defer stop()
	for _, b := range chosen {
		if r != nil && r.setup != b.needs {
			stop()
		}
		if r == nil && b.needs != nil {
			s.say("starting: %s", b.needs.about)
			if r, err = startRig(ctx, b.needs); err != nil {
				return err
			}
		}
		s.say("%s: %s", b.name, b.about)
		if err := b.run(ctx, s, r); err != nil {
			return fmt.Errorf("%s could not be measured: %w%s", b.name, err, r.lastWords())
		}
	}
	return err
}
