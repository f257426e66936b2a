package alerts

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

// fromElsewhere are labels that Prometheus adds, and those of parts of a histogram.
var fromElsewhere = []string{"__name__", "namespace", "pod", "le"}

// ofLibraries are metrics of other libraries, with their labels.
var ofLibraries = map[string]metric{
	"controller_runtime_reconcile_total":        {Type: "counter", Labels: []string{"controller", "result"}, Reporter: "process"},
	"controller_runtime_reconcile_errors_total": {Type: "counter", Labels: []string{"controller"}, Reporter: "process"},
	"controller_runtime_reconcile_panics_total": {Type: "counter", Labels: []string{"controller"}, Reporter: "process"},
	"process_resident_memory_bytes":             {Type: "gauge", Reporter: "everyone"},
	"process_cpu_seconds_total":                 {Type: "counter", Reporter: "everyone"},
}

// problemsOf are those of an expression: nonexistent metrics and labels, sums of values that each replica reports in
// full, or maxima of values that are divided between replicas.
func problemsOf(text string, list map[string]metric, recorded []string) (problems []string) {
	expr, err := syntax.ParseExpr(text)
	if err != nil {
		return []string{err.Error()}
	}
	parser.Inspect(expr, func(node parser.Node, path []parser.Node) error {
		selector, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		name := selector.Name
		if slices.Contains(recorded, name) {
			return nil
		}
		_, m, there := family(name, list)
		if !there {
			if m, there = ofLibraries[name]; !there {
				problems = append(problems, "no metric "+name)
				return nil
			}
		}
		for _, matcher := range selector.LabelMatchers {
			if !slices.Contains(m.Labels, matcher.Name) && !slices.Contains(fromElsewhere, matcher.Name) {
				problems = append(problems, fmt.Sprintf("%s has no label %s", name, matcher.Name))
			}
		}
		problems = append(problems, wrongAggregation(name, m, path)...)
		return nil
	})
	return problems
}

// wrongAggregation compares the innermost aggregation around a selector with the reporter of the metric, and its labels with those of the metric.
func wrongAggregation(name string, m metric, path []parser.Node) (problems []string) {
	for _, node := range slices.Backward(path) {
		aggregation, ok := node.(*parser.AggregateExpr)
		if !ok {
			continue
		}
		for _, label := range aggregation.Grouping {
			if !slices.Contains(m.Labels, label) && !slices.Contains(fromElsewhere, label) {
				problems = append(problems, fmt.Sprintf("%s by %s, a label that %s lacks", aggregation.Op, label, name))
			}
		}
		summed := aggregation.Op == parser.SUM
		byReplica := slices.Contains(aggregation.Grouping, "pod")
		shared := m.Reporter == "owner" || m.Reporter == "process"
		if summed != shared && !byReplica {
			problems = append(problems, fmt.Sprintf("%s of %s, whose reporter is %s", aggregation.Op, name, m.Reporter))
		}
		return problems
	}
	if m.Reporter == "owner" || m.Reporter == "leader" {
		problems = append(problems, fmt.Sprintf("%s, whose reporter is %s, without an aggregation", name, m.Reporter))
	}
	return problems
}

func TestRulesReadWhatTheOperatorHas(t *testing.T) {
	list, err := listedMetrics()
	if err != nil {
		t.Fatal(err)
	}
	all := rulesOf(t)
	var recorded []string
	for _, rule := range records(all) {
		recorded = append(recorded, rule.Record)
	}
	for _, rule := range all {
		for _, problem := range problemsOf(rule.Expr, list, recorded) {
			t.Errorf("%s%s: %s", rule.Alert, rule.Record, problem)
		}
		if !strings.Contains(rule.Expr, "namespace=") {
			t.Errorf("%s%s reads the metrics of another operator as well", rule.Alert, rule.Record)
		}
	}
}

func TestWrongQueriesAreFound(t *testing.T) {
	list := map[string]metric{
		"vmgroup_groups":     {Type: "gauge", Labels: []string{"member"}, Reporter: "owner"},
		"vmgroup_vcenter_up": {Type: "gauge", Labels: []string{"vcenter"}, Reporter: "everyone"},
	}
	for query, want := range map[string]string{
		`sum by (member) (vmgroup_groups{member="a"})`: "",
		`max by (vcenter) (vmgroup_vcenter_up)`:        "",
		`vmgroup_vcenter_up == 0`:                      "",
		`sum by (pod) (vmgroup_vcenter_up)`:            "",
		`max(vmgroup_groups)`:                          "max of vmgroup_groups, whose reporter is owner",
		`sum(vmgroup_vcenter_up)`:                      "sum of vmgroup_vcenter_up, whose reporter is everyone",
		`vmgroup_groups > 1`:                           "vmgroup_groups, whose reporter is owner, without an aggregation",
		`sum(vmgroup_groups{vcenter="a"})`:             "vmgroup_groups has no label vcenter",
		`sum by (vcenter) (vmgroup_groups)`:            "sum by vcenter, a label that vmgroup_groups lacks",
		`sum(vmgroup_groups_total)`:                    "no metric vmgroup_groups_total",
		`sum(rate(vmgroup_groups_bucket[5m]))`:         "no metric vmgroup_groups_bucket",
		`sum(vmgroup_groups`:                           "1:19: parse error: unclosed left parenthesis",
	} {
		if got := strings.Join(problemsOf(query, list, nil), "; "); got != want {
			t.Errorf("%s: got %q, want %q", query, got, want)
		}
	}
}
