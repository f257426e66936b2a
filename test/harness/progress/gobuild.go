// Package progress shows the progress of a long `go build`: the compiled packages, their total, and the elapsed time. On a terminal it
// rewrites one line. Elsewhere it adds a line every 15 seconds, so that the log of a CI run stays short and still shows progress.
//
// It uses only the standard library, because it is compiled first on a machine with empty caches.
package progress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// manyPackages is the number of packages from which the hint about the duration is printed.
const manyPackages = 200

// tailLines is the number of lines of the compiler's output in an error.
const tailLines = 40

// GoBuild is one visible run of `go build`, with [Flags] and the environment of [Environ].
type GoBuild struct {
	// Label describes the build, for example "kube-apiserver v1.36.5".
	Label string
	// Hint is printed at the start if there are many packages to compile, for example "about 6 minutes".
	Hint string
	// Dir is the working directory: the module.
	Dir string
	// Env extends the variables of [Environ].
	Env []string
	// Flags are additional build flags, which `go list` accepts too.
	Flags []string
	// Race builds with the race detector. It needs a C compiler and shares no packages with other builds.
	Race bool
	// Output is the file to write. If it is empty, the build only compiles.
	Output string
	// Packages to build.
	Packages []string
	// TestDependencies builds the uncompiled dependencies of the packages' tests in other modules, instead of Packages. `go test` compiles
	// the packages.
	TestDependencies bool
	// Out receives the progress. Nil means standard error.
	Out io.Writer
}

// Run builds and returns when the build is done or ctx ends. The error contains the compiler's last lines.
func (b GoBuild) Run(ctx context.Context) error {
	line := newLine(b.Out, b.Label)
	counter := &counter{line: line}
	stale, err := b.stale(ctx, counter)
	if err != nil {
		line.close("failed")
		return err
	}
	packages := b.Packages
	if b.TestDependencies {
		packages = stale
		if len(packages) == 0 {
			line.close("")
			return nil
		}
	}
	counter.setTotal(len(stale))
	if b.Hint != "" && len(stale) >= manyPackages {
		line.say(fmt.Sprintf("%s: %d packages to compile; %s", b.Label, len(stale), b.Hint))
	}

	args := append([]string{"build", "-v"}, b.flags()...)
	if b.Output != "" {
		args = append(args, "-o", b.Output)
	}
	if err := b.run(ctx, append(args, packages...), counter, nil); err != nil {
		line.close("failed")
		return err
	}
	line.close("done")
	return nil
}

// stale lists the packages that `go build` must compile. It downloads missing modules, so it reports to the counter as well.
func (b GoBuild) stale(ctx context.Context, c *counter) ([]string, error) {
	format := `{{if .Stale}}{{.ImportPath}}{{end}}`
	args := []string{"list", "-deps"}
	if b.TestDependencies {
		args = append(args, "-test")
		// Test variants ("p [q.test]") belong to this module, because no other module imports its tests.
		format = `{{if and .Stale (not .ForTest) (or .Standard (and .Module (not .Module.Main)))}}{{.ImportPath}}{{end}}`
	}
	args = append(args, b.flags()...)
	args = append(args, "-f", format)
	args = append(args, b.Packages...)
	for pause := firstPause; ; pause *= 4 {
		var out strings.Builder
		err := b.run(ctx, args, c, &out)
		if err == nil {
			return strings.Fields(out.String()), nil
		}
		if pause > lastPause || !noAnswer.MatchString(err.Error()) {
			return nil, err
		}
		c.line.say(fmt.Sprintf("%s: a download failed, trying again in %s: %s", b.Label, pause, noAnswer.FindString(err.Error())))
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("go list for %s: %w", b.Label, context.Cause(ctx))
		case <-time.After(pause):
		}
	}
}

// On an empty machine, the go command downloads thousands of modules and stops at the first failure. Downloaded modules stay, so
// each further attempt needs fewer.
const firstPause, lastPause = 2 * time.Second, 32 * time.Second

// noAnswer matches the go command's errors for an unreachable proxy, or for a proxy that cannot reach its sources. A missing module or
// another checksum is an answer.
var noAnswer = regexp.MustCompile(`dial tcp|connection re(set|fused)|i/o timeout|TLS handshake timeout|unexpected EOF|stream error|` +
	`(429 Too Many Requests|500 Internal Server Error|502 Bad Gateway|503 Service Unavailable|504 Gateway Time-?out)`)

// run executes the go command and passes its standard error to the counter.
func (b GoBuild) run(ctx context.Context, args []string, c *counter, stdout io.Writer) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = b.Dir
	cmd.Env = append(Environ(b.Race), b.Env...)
	cmd.Stdout = stdout
	// On an interrupt, the go command removes its work directory. The code below waits for the end of the pipe.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return fmt.Errorf("go %s: %w", args[0], err)
	}
	if err := cmd.Start(); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("go %s for %s: %w", args[0], b.Label, context.Cause(ctx))
		}
		return fmt.Errorf("go %s: start the go command, is Go installed and on PATH?: %w", args[0], err)
	}
	scanner := bufio.NewScanner(stderr)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		c.read(scanner.Text())
	}
	if err := errors.Join(scanner.Err(), cmd.Wait()); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("go %s for %s in %s: %w\n%s", args[0], b.Label, filepath.Base(b.Dir), err, c.tail())
	}
	return nil
}

// importPath is the output of `go build -v` for each compiled package. Messages contain spaces or colons.
var importPath = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./~+-]*$`)

// counter converts the go command's lines to numbers on the progress line.
type counter struct {
	mu                   sync.Mutex
	line                 *line
	total, built, loaded int
	rest                 []string
}

func (c *counter) setTotal(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total = n
}

func (c *counter) read(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case strings.HasPrefix(text, "go: downloading "):
		c.loaded++
		c.line.set(fmt.Sprintf("%d modules downloaded", c.loaded))
	case importPath.MatchString(text):
		c.built++
		// The estimate can be one package too low. Never print 101 of 100.
		c.total = max(c.total, c.built)
		c.line.set(fmt.Sprintf("package %d of %d", c.built, c.total))
	default:
		c.rest = append(c.rest, text)
		c.rest = c.rest[max(0, len(c.rest)-tailLines):]
	}
}

func (c *counter) tail() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.rest, "\n")
}
