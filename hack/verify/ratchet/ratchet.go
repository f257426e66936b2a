// Package ratchet limits the size of the operator: callbacks between its parts, lines linked into the manager, and lines of each package.
// The bounds are in [File]. A commit that raises a bound gives the reason beside it.
package ratchet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// File contains the bounds. It is relative to the root of the repository.
const File = "hack/verify/ratchet.yaml"

// Bound is the upper limit of a number.
type Bound struct {
	Most int `json:"most"`
	// Reason for the last raise.
	Reason string `json:"reason"`
}

// Bounds are the content of [File].
type Bounds struct {
	// Callbacks between parts. See [Field].
	Callbacks Bound `json:"callbacks"`
	// Linked is the bound for the lines of this module in the manager.
	Linked Bound `json:"linked"`
	// Package is the bound of each package that Packages does not name.
	Package Bound `json:"package"`
	// Packages have their own bounds, by directory.
	Packages map[string]Bound `json:"packages"`
	// NoLinks are fields of function type that link no parts, with the reason for each: random sources, rows of tables, and functions that
	// a package sets itself. Clocks (func() time.Time) need no row.
	NoLinks map[string]string `json:"noLinks"`
}

// Numbers are the measured values.
type Numbers struct {
	Callbacks []Field
	// Lines of each linked package, by directory.
	Lines map[string]int
	// NoLinks are the fields of function type that are no callbacks.
	NoLinks []Field
}

// Linked is the sum of the lines of all packages.
func (n Numbers) Linked() (sum int) {
	for _, lines := range n.Lines {
		sum += lines
	}
	return sum
}

// Check measures the repository, prints the numbers, and fails if one exceeds its bound.
func Check(ctx context.Context, root string, _ []string) error {
	text, err := os.ReadFile(filepath.Join(root, File))
	if err != nil {
		return err
	}
	bounds, err := parse(text)
	if err != nil {
		return err
	}
	packages, err := linked(ctx, root, "./cmd/manager")
	if err != nil {
		return err
	}
	numbers, err := measure(packages, bounds.NoLinks)
	if err != nil {
		return err
	}
	report(os.Stdout, bounds, numbers)
	before, err := earlier(ctx, root, text)
	if err != nil {
		return err
	}
	return errors.Join(append(exceeded(bounds, numbers), unexplained(before, bounds)...)...)
}

func parse(text []byte) (b Bounds, err error) {
	if err := yaml.UnmarshalStrict(text, &b); err != nil {
		return b, fmt.Errorf("read %s: %w", File, err)
	}
	return b, nil
}

// of returns the bound of a package.
func (b Bounds) of(directory string) Bound {
	if own, ok := b.Packages[directory]; ok {
		return own
	}
	return b.Package
}

// report prints the numbers, with the packages that have their own bounds and the largest other package.
func report(out io.Writer, b Bounds, n Numbers) {
	_, _ = fmt.Fprintf(out, "verify: %d callbacks between parts (at most %d), %d lines in %d packages linked into the manager (at most %d)\n",
		len(n.Callbacks), b.Callbacks.Most, n.Linked(), len(n.Lines), b.Linked.Most)
	largest := ""
	for _, directory := range bySize(n.Lines) {
		if own, ok := b.Packages[directory]; ok {
			_, _ = fmt.Fprintf(out, "verify:   %6d lines in %s (at most %d)\n", n.Lines[directory], directory, own.Most)
		} else if largest == "" {
			largest = directory
		}
	}
	_, _ = fmt.Fprintf(out, "verify:   %6d lines in %s, the largest of the others (at most %d)\n", n.Lines[largest], largest, b.Package.Most)
}

func bySize(lines map[string]int) []string {
	return slices.SortedFunc(maps.Keys(lines), func(a, b string) int {
		if lines[a] != lines[b] {
			return lines[b] - lines[a]
		}
		return strings.Compare(a, b)
	})
}

// exceeded returns the numbers above their bounds, and the rows for missing packages and fields.
func exceeded(b Bounds, n Numbers) (problems []error) {
	advice := "; remove some, or raise the bound in " + File + " and give the reason"
	if len(n.Callbacks) > b.Callbacks.Most {
		problems = append(problems, fmt.Errorf("  %d callbacks between parts, at most %d%s. A field that links no parts needs a row in noLinks. They are:%s",
			len(n.Callbacks), b.Callbacks.Most, advice, list(n.Callbacks)))
	}
	if n.Linked() > b.Linked.Most {
		problems = append(problems, fmt.Errorf("  %d lines linked into the manager, at most %d%s", n.Linked(), b.Linked.Most, advice))
	}
	for _, directory := range bySize(n.Lines) {
		if most := b.of(directory).Most; n.Lines[directory] > most {
			problems = append(problems, fmt.Errorf("  %d lines in %s, at most %d%s", n.Lines[directory], directory, most, advice))
		}
	}
	for _, directory := range slices.Sorted(maps.Keys(b.Packages)) {
		if _, there := n.Lines[directory]; !there {
			problems = append(problems, fmt.Errorf("  %s bounds package %s, which is not linked: remove the row", File, directory))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.NoLinks)) {
		if !slices.ContainsFunc(n.NoLinks, func(f Field) bool { return f.String() == name }) {
			problems = append(problems, fmt.Errorf("  %s has a row in noLinks for %s, which is no field of function type: remove the row", File, name))
		}
	}
	return problems
}

func list(fields []Field) (text string) {
	for _, f := range fields {
		text += "\n    " + f.String()
	}
	return text
}

// unexplained returns bounds without a reason, and raised bounds without a new reason.
func unexplained(before *Bounds, b Bounds) (problems []error) {
	check := func(name string, was, now Bound) {
		switch {
		case now.Reason == "":
			problems = append(problems, fmt.Errorf("  the bound of %s in %s has no reason", name, File))
		case now.Most > was.Most && now.Reason == was.Reason:
			problems = append(problems, fmt.Errorf("  the bound of %s in %s was raised from %d to %d: give the reason beside it", name, File, was.Most, now.Most))
		}
	}
	if before == nil {
		before = &b
	}
	check("callbacks", before.Callbacks, b.Callbacks)
	check("linked", before.Linked, b.Linked)
	check("package", before.Package, b.Package)
	for _, directory := range slices.Sorted(maps.Keys(b.Packages)) {
		check(directory, before.of(directory), b.Packages[directory])
	}
	for name, reason := range b.NoLinks {
		if reason == "" {
			problems = append(problems, fmt.Errorf("  the row of %s in noLinks of %s has no reason", name, File))
		}
	}
	return problems
}
