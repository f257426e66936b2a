//go:build unix && soak

package soak

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

var (
	minutes = flag.Int("minutes", 20, "how long the changes last")
	rest    = flag.Duration("rest", 0, "the time after the last deletion in which all figures return; 0 is half an hour, see returns")
	seed    = flag.Uint64("seed", 0, "seed of the random changes; 0 draws one")
	heaps   = flag.String("heaps", "", "directory for heap profiles of the last minute; GODEBUG=memprofilerate=4096 makes them finer")
)

// returns is the time after the last deletion in which all figures return. The leader asks about kept VMs for ten minutes after they were deleted
// (settledFor in internal/receipts). Until ten minutes after that, the index remembers that they do not exist (keepVerdict in internal/vsphere/inventory), and it
// forgets them with the next full listing, up to five minutes later. Meanwhile quotas count VMs of deleted groups for eleven minutes, and then 18 empty folders
// are removed in a minute.
const returns = 30 * time.Minute

// freshFor is how long a new replica runs before it is compared with one that lived through the changes.
const freshFor = 4 * time.Minute

// freshBounds compare the replica that lived all the time with a new one beside the same groups, and youngBounds with one that lived through
// the last part of the changes: the first use of a type, an operation or an outcome fills a cache or creates a series, in each replica. The first replica leads,
// and has the caches of a leader in addition.
var (
	freshBounds = []Bound{{Figure: Goroutines, Share: 0.05}, {Figure: Descriptors, Above: 10}, {Figure: Objects}}
	youngBounds = []Bound{{Figure: Heap, Share: 0.1}, {Figure: Goroutines, Share: 0.05}, {Figure: Series, Share: 0.15}}
)

// sharedBounds compare the end with the beginning.
var sharedBounds = []Bound{
	{Figure: hubKeys, Share: 0.05}, {Figure: memberKeys, Share: 0.05}, {Figure: configMaps, Above: 2}, // the head of the ledgers, and records on two pages instead of one
	{Figure: secrets}, {Figure: sessions, Above: 2},
	{Figure: vms}, {Figure: groupFolders},
}

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	flag.Parse()
	os.Exit(m.Run())
}

func awaitCondition(ctx context.Context, what string, condition func(context.Context) (bool, error)) error {
	return await.Condition(ctx, what, condition)
}

// TestNothingGrows lets users, administrators and persons in vCenter change things at random. Then it deletes what they made, waits until figures
// return, and names those that did not.
func TestNothingGrows(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("%d minutes with seed %d: make test-soak MINUTES=%d ARGS=-seed=%d", *minutes, *seed, *minutes, *seed)
	if *heaps != "" { // an hour later, its absence would end the test
		if err := os.MkdirAll(*heaps, 0o750); err != nil {
			t.Fatal(err)
		}
	}
	w := newWorld(t)
	ctx := t.Context()
	before := w.sample(ctx, "before")
	stays := w.residentVMs(ctx)

	c := newChurn(w, *seed)
	length := time.Duration(*minutes) * time.Minute
	part := max(length/4, min(length, 4*time.Minute))
	w.churns(ctx, c, length-part, true)
	young := w.Replicas[1]
	w.must(young.Stop())
	w.must(young.Restart(ctx))
	w.letStay(ctx)
	w.churns(ctx, c, part, false)
	for _, what := range slices.Sorted(maps.Keys(c.counts)) {
		t.Logf("%5d times: %s", c.counts[what], what)
	}
	for _, what := range slices.Sorted(maps.Keys(c.failures)) {
		t.Logf("%5d refused: %s, for example: %v", c.failures[what], what, c.examples[what])
	}
	c.clear(ctx)
	w.settled(ctx)
	w.sample(ctx, "all deleted")

	resting := make(chan struct{})
	time.AfterFunc(cmp.Or(*rest, returns)-freshFor, func() { close(resting) })
	w.sampleUntil(ctx, "rest", resting)
	fresh, err := w.AddReplica(ctx, "fresh")
	w.must(err)
	resting = make(chan struct{})
	time.AfterFunc(freshFor, func() { close(resting) })
	w.sampleUntil(ctx, "beside a fresh replica", resting)
	after := w.sample(ctx, "end")
	names, err := w.folderNames(ctx)
	w.must(err)
	w.Logf("%s at the end: %v", groupFolders, slices.DeleteFunc(names, func(name string) bool { return !w.counts(name) }))
	var grown []string
	for _, line := range Grown(sharedBounds, before.shared, after.shared) {
		grown = append(grown, "beginning: "+line)
	}
	for name, reference := range map[string]struct {
		*stack.Replica
		bounds []Bound
	}{"young": {young, youngBounds}, "fresh": {fresh, freshBounds}} {
		process, err := w.process(ctx, reference.Replica)
		w.must(err)
		t.Logf("%s: %s", name, mainFigures(process, Figures{}))
		for _, line := range Grown(reference.bounds, process, after.process) {
			grown = append(grown, fmt.Sprintf("%s replica: %s", name, line))
		}
		w.storeHeap(ctx, reference.Replica, name)
	}
	w.storeHeap(ctx, w.Replicas[0], "old")

	if now := w.residentVMs(ctx); !maps.Equal(stays, now) {
		t.Errorf("the groups that stay have other VMs: %v before, %v now", stays, now)
	}
	for _, line := range grown {
		t.Errorf("grown, compared with the %s", line)
	}
	w.errorLines(c)
}

// churns runs a part of the churn.
func (w *world) churns(ctx context.Context, c *churn, length time.Duration, endsReplicas bool) {
	w.Helper()
	ending, end := context.WithTimeout(ctx, length)
	defer end()
	done := make(chan struct{})
	go func() { defer close(done); c.run(ending, c.lives(endsReplicas)) }()
	w.sampleUntil(ctx, "churn", done)
}

// storeHeap stores a heap profile for the comparison with go tool pprof -diff_base.
func (w *world) storeHeap(ctx context.Context, r *stack.Replica, name string) {
	w.Helper()
	if *heaps == "" {
		return
	}
	profile, err := w.read(ctx, r, "/debug/pprof/heap?gc=1")
	w.must(err)
	w.must(os.WriteFile(filepath.Join(*heaps, name+".pb.gz"), []byte(profile), 0o600))
}

// sampled are all figures of one moment.
type sampled struct{ process, shared Figures }

func (w *world) sample(ctx context.Context, when string) sampled {
	w.Helper()
	s, err := w.figures(ctx, when)
	w.must(err)
	return s
}

// figures reads all figures, and logs the main ones.
func (w *world) figures(ctx context.Context, when string) (s sampled, err error) {
	w.Helper()
	if s.process, err = w.process(ctx, w.Replicas[0]); err != nil {
		return s, err
	}
	if s.shared, err = w.shared(ctx); err != nil {
		return s, err
	}
	w.Logf("%s %s: %s", time.Now().Format(time.TimeOnly), when, mainFigures(s.process, s.shared))
	return s, nil
}

// sampleUntil samples each minute until done. On a busy machine, a read can time out; only the figures at the end decide.
func (w *world) sampleUntil(ctx context.Context, when string, done <-chan struct{}) {
	w.Helper()
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			if _, err := w.figures(ctx, when); err != nil {
				w.Logf("%s %s: no figures: %v", time.Now().Format(time.TimeOnly), when, err)
			}
		}
	}
}

// residentVMs are the references of the VMs of the groups that stay, by path.
func (w *world) residentVMs(ctx context.Context) map[string]string {
	w.Helper()
	all, err := w.Person.VMs(ctx)
	w.must(err)
	stays := map[string]string{}
	for path, vm := range all {
		if strings.Contains(path, "/"+residents+"/") {
			stays[path] = vm.Ref.Value
		}
	}
	return stays
}

// errorLines reports the lines at level error that no planted fault explains.
func (w *world) errorLines(c *churn) {
	w.Helper()
	f := Figures{}
	w.must(w.logs(f))
	for _, part := range slices.Sorted(maps.Keys(f)) {
		message, is := strings.CutPrefix(part, logErrors+": ")
		if !is {
			continue
		}
		most := 0
		switch passwords := c.counts["store a wrong password"]; message {
		case "VCenter changed InvalidLogin": // the leader's, of two VCenters at most
			most = passwords * 2
		case "Not connected; trying again until it works": // each replica has a connection
			most = passwords * replicas * 2
		}
		if n := int(f[part]); n > most {
			w.Errorf("%d lines at level error say %q, and %d planted faults explain that:\n%s", n, message, most, w.examples(message))
		}
	}
}

func (w *world) examples(message string) (lines string) {
	const most = 3
	n := 0
	for _, r := range w.Replicas {
		log, err := os.ReadFile(r.Log)
		w.must(err)
		for line := range strings.Lines(string(log)) {
			if got, is := errorLine(line); is && got == message && n < most {
				n++
				lines += fmt.Sprintf("  %s: %s", r.Name, line)
			}
		}
	}
	return lines
}
