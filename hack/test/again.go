package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
)

// mostAgain limits the failures to repeat. More failures have another cause than chance.
const mostAgain = 5

// again repeats failed tests to find out whether they fail by chance. The run stays failed, whatever the result: an unstable test is a bug
// of the product or of the test. The output of both runs is kept below bin/test-failures.
func again(ctx context.Context, out io.Writer, steps []step, failures []failure) {
	if len(failures) > mostAgain {
		_, _ = fmt.Fprintf(out, "test: %d failures, too many to try again\n", len(failures))
		return
	}
	tried := map[string]bool{}
	for _, f := range failures {
		story, _, _ := strings.Cut(f.test, "/")
		name := strings.TrimSpace(short(f.pkg) + " " + story)
		i := slices.IndexFunc(steps, func(s step) bool { return s.has(f.pkg) })
		if story == "" || tried[name] || i < 0 || ctx.Err() != nil {
			continue
		}
		tried[name] = true
		verdict, err := tryAgain(ctx, steps[i], f, story)
		if err != nil {
			verdict = err.Error()
		}
		_, _ = fmt.Fprintf(out, "test: once more %s: %s\n", name, verdict)
	}
}

// has reports whether a package can belong to the step.
func (s step) has(pkg string) bool {
	return slices.ContainsFunc(s.packages, func(p string) bool {
		p = strings.Replace(p, "./", assets.Module+"/", 1)
		tree, isTree := strings.CutSuffix(p, "...")
		return p == pkg || isTree && strings.HasPrefix(pkg+"/", tree)
	})
}

func tryAgain(ctx context.Context, s step, f failure, story string) (string, error) {
	root, err := assets.Root()
	if err != nil {
		return "", err
	}
	directory := filepath.Join(root, "bin", "test-failures")
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return "", err
	}
	base := filepath.Join(directory, strings.ReplaceAll(strings.TrimPrefix(short(f.pkg), "./"), "/", "-")+"-"+story)
	if err := os.WriteFile(base+"-1.log", []byte(f.output), 0o644); err != nil {
		return "", err
	}
	log, err := os.Create(base + "-2.log")
	if err != nil {
		return "", err
	}
	defer func() { _ = log.Close() }()
	s.packages = []string{f.pkg}
	s.args = append(withoutRun(s.args), "-count=1", "-run=^"+regexp.QuoteMeta(story)+"$")
	second := newResults(io.Discard, false)
	if err := s.run(ctx, second, log); err != nil {
		return "", err
	}
	verdict := "it passed: it fails by chance, which is a bug of the product or of the test"
	if len(second.failures) > 0 {
		verdict = "it failed again"
	}
	return fmt.Sprintf("%s; both logs: %s-1.log, %s-2.log", verdict, base, base), nil
}

// withoutRun removes flags that select tests.
func withoutRun(args []string) []string {
	var rest []string
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "-run" || args[i] == "-skip" || args[i] == "-count":
			i++
		case strings.HasPrefix(args[i], "-run=") || strings.HasPrefix(args[i], "-skip=") || strings.HasPrefix(args[i], "-count="):
		default:
			rest = append(rest, args[i])
		}
	}
	return rest
}
