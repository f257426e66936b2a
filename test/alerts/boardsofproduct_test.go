package alerts

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
)

// notScraped are metrics that dashboards read and recordings omit, each with the reason. notInFaults has those that no
// fault causes for certain.
var notScraped = map[string]string{
	"process_resident_memory_bytes": "recordings have the series of the operator and of its controllers only",
	"process_cpu_seconds_total":     "recordings have the series of the operator and of its controllers only",
}

// notInTime are queries of series that the product reports for seconds only, by dashboard and panel, each with their
// cause.
var notInTime = map[string]string{
	"fleet, VMs missing": "VMs that are lost, unhealthy or repaired; a repair in the simulator ends before the next scrape",
}

// excuse is why a query can return nothing of the product's reports in faults, or "". One metric without series is
// enough.
func excuse(expr string) (why string, err error) {
	parsed, err := syntax.ParseExpr(expr)
	if err != nil {
		return "", err
	}
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		if selector, ok := node.(*parser.VectorSelector); ok {
			why = cmp.Or(why, notInFaults[selector.Name], notScraped[selector.Name])
		}
		return nil
	})
	return why, nil
}

// bare is a query without the zero for missing series: a nonexistent metric would show it, too.
func bare(expr string) string { return strings.ReplaceAll(expr, " or vector(0)", "") }

// asked is a query of a dashboard. shown is true once it had a value.
type asked struct {
	// where has the dashboard and the panel.
	where, expr string
	shown       bool
}

// ask evaluates the queries that had no value yet.
func ask(e *engine, queries []*asked, now time.Time) error {
	for _, q := range queries {
		if q.shown {
			continue
		}
		got, err := e.query(context.Background(), bare(q.expr), now)
		if err != nil {
			return fmt.Errorf("%s: %w", q.where, err)
		}
		for _, s := range got {
			q.shown = q.shown || !math.IsNaN(s.F)
		}
	}
	return nil
}

// askDuring evaluates the queries over a recording: soon after the fault begins and ends, and at the end of each phase.
func askDuring(fault string, queries []*asked, list map[string]metric, t *testing.T) error {
	const phase = 5 * time.Minute
	scrapes, err := readRecording(kindFaults, fault)
	if err != nil {
		return err
	}
	e, err := newEngine()
	if err != nil {
		return err
	}
	defer e.close()
	rules, err := e.load("records", records(rulesOf(t)), true)
	if err != nil {
		return err
	}
	samples := newReplay(scrapes, list, phase, phase)
	looks := map[time.Duration]bool{phase - step: true, phase + 2*step: true, 2*phase - step: true, 2*phase + 2*step: true, 3 * phase: true}
	for since := time.Duration(0); since <= 3*phase; since += step {
		now := epoch.Add(since)
		if err := e.scrape(now, samples.next(since)); err != nil {
			return err
		}
		if _, err := rules.eval(now); err != nil {
			return err
		}
		if looks[since] {
			if err := ask(e, queries, now); err != nil {
				return err
			}
		}
	}
	return samples.err
}

// TestDashboardsShowWhatTheProductReports evaluates each query over the reports of the whole product's replicas before,
// during and after the faults. It must return a value in one of them.
func TestDashboardsShowWhatTheProductReports(t *testing.T) {
	t.Parallel()
	list, err := listedMetrics()
	if err != nil {
		t.Fatal(err)
	}
	var queries []*asked
	for name, b := range boardsOf(t) {
		for _, p := range b.Panels {
			for _, q := range p.Targets {
				queries = append(queries, &asked{where: name + ", " + p.Title, expr: chosen(q.Expr)})
			}
		}
	}
	faults, err := recordedFaults()
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range faults {
		if err := askDuring(fault, queries, list, t); err != nil {
			t.Fatalf("%s: %v", fault, err)
		}
	}
	shown := 0
	for _, q := range queries {
		why, err := excuse(q.expr)
		if err != nil {
			t.Fatal(err)
		}
		if q.shown {
			shown++
		} else if cmp.Or(why, notInTime[q.where]) == "" {
			t.Errorf("%s shows nothing in any fault: %s", q.where, q.expr)
		}
	}
	for where := range notInTime {
		if !slices.ContainsFunc(queries, func(q *asked) bool { return q.where == where }) {
			t.Errorf("there is no panel %s", where)
		}
	}
	t.Logf("%d of %d queries show what the product reported", shown, len(queries))
	if shown < 40 {
		t.Errorf("only %d queries show anything", shown)
	}
}
