package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
)

// result is one figure.
type result struct {
	// Name is <benchmark>/<figure>.
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	// Goal is, for example, "<= 1.1". It is empty for a figure that is only for comparison.
	Goal string `json:"goal"`
	// OK reports whether the goal was met. It is null without a goal.
	OK *bool `json:"ok"`
	// Conditions of the measurement.
	Conditions string `json:"conditions"`
}

// goal is the limit of a figure.
type goal struct {
	sign  string
	bound float64
}

var noGoal goal

func atMost(bound float64) goal  { return goal{"<=", bound} }
func atLeast(bound float64) goal { return goal{">=", bound} }

// judge makes a result. A value that is not a number misses every goal.
func judge(name string, value float64, unit string, g goal, conditions string) result {
	r := result{Name: name, Value: value, Unit: unit, Conditions: conditions}
	if g == noGoal {
		return r
	}
	r.Goal = g.sign + " " + number(g.bound)
	ok := value <= g.bound
	if g.sign == ">=" {
		ok = value >= g.bound
	}
	r.OK = &ok
	return r
}

// number formats a number with at most four significant digits.
func number(v float64) string {
	if v >= 1000 || v <= -1000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

func (r result) verdict() string {
	switch {
	case r.OK == nil:
		return ""
	case *r.OK:
		return "yes"
	}
	return "NO"
}

// printTable prints results for users as a Markdown table, so that documents can include it.
func printTable(out io.Writer, results []result) error {
	w := tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)
	_, _ = fmt.Fprint(w, "| Name\t| Value\t| Unit\t| Goal\t| OK\t| Conditions\t|\n| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t|\n")
	for _, r := range results {
		cells := []string{r.Name, number(r.Value), r.Unit, r.Goal, r.verdict(), r.Conditions}
		_, _ = fmt.Fprintf(w, "| %s\t|\n", strings.Join(cells, "\t| "))
	}
	return w.Flush()
}

// writeResults writes the file for programs.
func writeResults(file string, results []result) error {
	content, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the results: %w", err)
	}
	return os.WriteFile(file, append(content, '\n'), 0o644) //nolint:gosec // figures are no secret
}
