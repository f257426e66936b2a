package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
)

// event is a line of `go test -json`. See `go doc test2json` and `go help buildjson`.
type event struct {
	Action, Package, Test, Output, ImportPath, FailedBuild string
	Elapsed                                                float64
}

// failure is a failed test. Without the name of a test, it is a failure of a package: its build, or code before and after its tests.
type failure struct {
	pkg, test string
	output    string
}

func (f failure) String() string {
	return strings.TrimSpace(short(f.pkg) + " " + f.test)
}

// timing is the duration of a package. A cached result takes no time.
type timing struct {
	pkg     string
	seconds float64
	cached  bool
}

// results collects the output of all runs of `go test`.
type results struct {
	out     io.Writer
	verbose bool
	now     func() time.Time

	mu       sync.Mutex
	last     time.Time
	running  []string
	lines    map[[2]string]*strings.Builder // by package and test
	failures []failure
	timings  []timing
	tests    int
}

func newResults(out io.Writer, verbose bool) *results {
	return &results{out: out, verbose: verbose, now: time.Now, last: time.Now(), lines: map[[2]string]*strings.Builder{}}
}

// read reads the output of `go test -json` to its end. It prints each finished package, each failure with its whole output, and a sign of
// life. If logs is not nil, it receives the whole output.
func (r *results) read(in io.Reader, logs io.Writer) error {
	stop := make(chan struct{})
	var alive sync.WaitGroup
	alive.Go(func() { r.pulse(stop) })
	defer alive.Wait()
	defer close(stop)
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil {
				e = event{Action: "output", Output: string(line)}
			}
			if logs != nil {
				_, _ = io.WriteString(logs, e.Output)
			}
			r.take(e)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read what go test says: %w", err)
		}
	}
}

func (r *results) take(e event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := [2]string{e.Package, e.Test}
	switch e.Action {
	case "start":
		r.running = append(r.running, e.Package)
	case "output":
		r.output(key, e)
	case "build-output":
		r.print(e.Output)
	case "pass", "skip":
		if e.Test == "" {
			r.done(e)
			return
		}
		r.tests++
		delete(r.lines, key)
	case "fail":
		r.fail(key, e)
		if e.Test == "" {
			r.done(e)
		}
	}
}

func (r *results) output(key [2]string, e event) {
	if r.verbose || e.Package == "" {
		r.print(e.Output)
	}
	if r.lines[key] == nil {
		r.lines[key] = &strings.Builder{}
	}
	_, _ = r.lines[key].WriteString(e.Output)
}

// fail records a failure. A failed subtest reports for its parent, and failed tests report for their package.
func (r *results) fail(key [2]string, e event) {
	said := ""
	if lines := r.lines[key]; lines != nil {
		said = lines.String()
	}
	delete(r.lines, key)
	inside := func(f failure) bool {
		return f.pkg == e.Package && (e.Test == "" || strings.HasPrefix(f.test, e.Test+"/"))
	}
	if e.Test != "" {
		r.tests++
	}
	if e.Test == "" && slices.ContainsFunc(r.failures, inside) {
		if !r.verbose {
			r.print(said) // such as the last output of a TestMain
		}
		return
	}
	r.failures = append(r.failures, failure{pkg: e.Package, test: e.Test, output: said})
	if !r.verbose {
		r.print(said)
	}
}

// done prints the line of a package.
func (r *results) done(e event) {
	r.running = slices.DeleteFunc(r.running, func(p string) bool { return p == e.Package })
	said := ""
	if lines := r.lines[[2]string{e.Package}]; lines != nil {
		said = lines.String()
	}
	// Tests without a result did not end, because the package was killed or timed out. Only their output shows where they were.
	for _, key := range r.ofTests(e.Package) {
		if e.Action == "fail" && !r.verbose {
			r.print(r.lines[key].String())
		}
		delete(r.lines, key)
	}
	delete(r.lines, [2]string{e.Package})
	cached := strings.Contains(said, "\t(cached)\n")
	if e.Action != "skip" {
		r.timings = append(r.timings, timing{e.Package, e.Elapsed, cached})
	}
	switch {
	case r.verbose:
	case e.Action == "fail":
		r.print(fmt.Sprintf("FAIL\t%s\t%.1fs\n", short(e.Package), e.Elapsed))
	case e.Action == "pass":
		took := fmt.Sprintf("%.1fs", e.Elapsed)
		if cached {
			took = "(cached)"
		}
		r.print(fmt.Sprintf("ok  \t%s\t%s\n", short(e.Package), took))
	}
}

// ofTests returns the keys of the package's tests with output and without a result, by name.
func (r *results) ofTests(pkg string) (keys [][2]string) {
	for key := range r.lines {
		if key[0] == pkg && key[1] != "" {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b [2]string) int { return cmp.Compare(a[1], b[1]) })
	return keys
}

func (r *results) print(text string) {
	if text != "" {
		r.last = r.now()
		_, _ = io.WriteString(r.out, text)
	}
}

// silence is the longest time without output.
const silence = 30 * time.Second

// pulse prints a sign of life after a while without output.
func (r *results) pulse(stop <-chan struct{}) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
			r.beat()
		}
	}
}

func (r *results) beat() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now().Sub(r.last) < silence {
		return
	}
	var names []string
	for _, p := range r.running {
		names = append(names, short(p))
	}
	if len(names) == 0 {
		names = []string{"compiling"}
	}
	const most = 5
	if len(names) > most {
		names = append(names[:most], fmt.Sprintf("and %d more", len(names)-most))
	}
	r.print("test: still running: " + strings.Join(names, ", ") + "\n")
}

// rows limits the packages in the table.
const rows = 15

// table prints the durations of the packages, longest first.
func (r *results) table(out io.Writer) {
	slices.SortFunc(r.timings, func(a, b timing) int {
		return cmp.Or(cmp.Compare(b.seconds, a.seconds), cmp.Compare(a.pkg, b.pkg))
	})
	sum, cached := 0.0, 0
	for _, t := range r.timings {
		if sum += t.seconds; t.cached {
			cached++
		}
	}
	_, _ = fmt.Fprintf(out, "test: %d tests in %d packages, %d of them from the cache; seconds:\n", r.tests, len(r.timings), cached)
	shown := r.timings[:min(rows, len(r.timings))]
	for _, t := range shown {
		_, _ = fmt.Fprintf(out, "%8.1f  %s\n", t.seconds, short(t.pkg))
		sum -= t.seconds
	}
	if more := len(r.timings) - len(shown); more > 0 {
		_, _ = fmt.Fprintf(out, "%8.1f  %d more\n", sum, more)
	}
}

// failed reports whether any test has failed so far. Other steps can still run.
func (r *results) failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.failures) > 0
}

// verdict returns one line about all failures.
func (r *results) verdict() string {
	names := make([]string, 0, len(r.failures))
	for _, f := range r.failures {
		names = append(names, f.String())
	}
	return strings.Join(names, ", ")
}

// short returns a package's path as on the command line.
func short(pkg string) string {
	return strings.Replace(pkg, assets.Module, ".", 1)
}
