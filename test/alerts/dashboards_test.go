package alerts

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
)

// shownOnly are series that dashboards show and no alert reads, in addition to those of the busy fleet.
var shownOnly = []series{
	always(`vmgroup_groups_by_reason{pod="a",vcenter="vc-1",reason="Starting"}`, 3),
	always(`vmgroup_groups_held{pod="a",member="m-1",reason="policy"}`, 1),
	always(`vmgroup_policy_violations{pod="a",policy="shop"}`, 1),
	steadily(`vmgroup_vms_destroyed_total{pod="a",member="m-1",reason="deletion"}`, 1),
	steadily(`vmgroup_vm_ready_duration_seconds_bucket{pod="a",vcenter="vc-1",le="60"}`, 8),
	steadily(`vmgroup_vm_ready_duration_seconds_bucket{pod="a",vcenter="vc-1",le="600"}`, 10),
	steadily(`vmgroup_vm_ready_duration_seconds_bucket{pod="a",vcenter="vc-1",le="+Inf"}`, 10),
	always(`vmgroup_vcenter_status{pod="a",vcenter="vc-1",reason="Connected"}`, 1),
	always(`vmgroup_vcenter_vms{pod="a",vcenter="vc-1"}`, 1000),
	always(`vmgroup_released_vms{pod="a",vcenter="vc-1"}`, 2),
	steadily(`vmgroup_vcenter_requests_total{pod="a",vcenter="vc-1",method="Login",code="ok"}`, 1),
	steadily(`vmgroup_vcenter_task_duration_seconds_bucket{pod="a",vcenter="vc-1",kind="clone",le="60"}`, 5),
	steadily(`vmgroup_vcenter_task_duration_seconds_bucket{pod="a",vcenter="vc-1",kind="clone",le="+Inf"}`, 5),
	always(`vmgroup_sharding_owned_buckets{pod="a"}`, 64),
	always(`vmgroup_sharding_owned_buckets{pod="b"}`, 64),
	steadily(`vmgroup_sharding_takeovers_total{pod="a",by="proof"}`, 1),
	steadily(`vmgroup_sharding_fence_rejections_total{pod="a",reason="lost"}`, 1),
	always(`vmgroup_queue_waiting{pod="a",member="m-1"}`, 4),
	steadily(`vmgroup_hub_write_wait_seconds_total{pod="a",member="m-1"}`, 6),
	always(`vmgroup_member_status{pod="a",member="m-2",reason="MemberUnreachable"}`, 1),
	always(`process_resident_memory_bytes{pod="a"}`, 1e8),
	// Another process in the same namespace.
	always(`process_resident_memory_bytes{pod="other"}`, 1e9),
	steadily(`process_cpu_seconds_total{pod="a"}`, 6),
}

func boardsOf(t *testing.T) map[string]board {
	t.Helper()
	all, err := chartBoards()
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.Sorted(maps.Keys(all)); !slices.Equal(got, []string{"fleet", "replicas", "vcenter"}) {
		t.Fatalf("the chart has the dashboards %v", got)
	}
	return all
}

// TestDashboardsReadWhatTheOperatorHas: metrics and labels exist, and values that each replica reports in full are
// not summed.
func TestDashboardsReadWhatTheOperatorHas(t *testing.T) {
	list, err := listedMetrics()
	if err != nil {
		t.Fatal(err)
	}
	var recorded []string
	for _, rule := range records(rulesOf(t)) {
		recorded = append(recorded, rule.Record)
	}
	for name, b := range boardsOf(t) {
		for _, p := range b.Panels {
			for _, q := range p.Targets {
				// The sum over vCenters of a maximum over replicas is correct, because the inner aggregation decides.
				for _, problem := range problemsOf(chosen(q.Expr), list, recorded) {
					t.Errorf("%s, %s: %s", name, p.Title, problem)
				}
				if !strings.Contains(q.Expr, `namespace="$namespace"`) {
					t.Errorf("%s, %s reads the metrics of another operator as well", name, p.Title)
				}
			}
		}
	}
}

// TestDashboardsShowData evaluates each query over a fleet with all kinds of events. The legend of a query has
// labels of its series only.
func TestDashboardsShowData(t *testing.T) {
	e, err := newEngine()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.close)
	rules, err := e.load("records", records(rulesOf(t)), true)
	if err != nil {
		t.Fatal(err)
	}
	line, err := newTimeline(story{series: shownOnly}, 0)
	if err != nil {
		t.Fatal(err)
	}
	var now time.Time
	for since := time.Duration(0); since <= settle; since += step {
		now = epoch.Add(since)
		if err := e.scrape(now, line.next(since)); err != nil {
			t.Fatal(err)
		}
		if _, err := rules.eval(now); err != nil {
			t.Fatal(err)
		}
	}
	count := 0
	for name, b := range boardsOf(t) {
		for _, p := range b.Panels {
			for _, q := range p.Targets {
				count++
				if unknown := variable.FindString(chosen(q.Expr)); unknown != "" {
					t.Errorf("%s, %s: variable %s is not known", name, p.Title, unknown)
					continue
				}
				got, err := e.query(context.Background(), chosen(q.Expr), now)
				if err != nil {
					t.Errorf("%s, %s: %v", name, p.Title, err)
				}
				if len(got) == 0 {
					t.Errorf("%s, %s shows nothing: %s", name, p.Title, q.Expr)
				}
				shown := map[string]bool{}
				for _, s := range got {
					for _, label := range lacks(q.LegendFormat, s.Metric) {
						t.Errorf("%s, %s: its legend has %s, and series %s lacks it", name, p.Title, label, s.Metric)
					}
					if s.Metric.Get("pod") == "other" {
						t.Errorf("%s, %s shows another process", name, p.Title)
					}
					shown[shownAs(q.LegendFormat, s.Metric)] = true
				}
				if p.Type != "table" && len(shown) < len(got) {
					t.Errorf("%s, %s shows several series with one name", name, p.Title)
				}
			}
		}
	}
	if count < 50 {
		t.Errorf("only %d queries were found", count)
	}
}

// shownAs is the name that a legend gives a series.
func shownAs(format string, series labels.Labels) string {
	return legend.ReplaceAllStringFunc(format, func(name string) string { return series.Get(strings.Trim(name, "{}")) })
}

func TestPanelsAreCompleteAndDoNotOverlap(t *testing.T) {
	list, err := listedMetrics()
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range boardsOf(t) {
		for _, problem := range wrongPanels(b, list) {
			t.Errorf("%s: %s", name, problem)
		}
	}
}

// wrongPanels are the problems of a dashboard outside its queries.
func wrongPanels(b board, list map[string]metric) (problems []string) {
	problem := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	ids := map[int]bool{}
	for i, p := range b.Panels {
		if p.ID == 0 || ids[p.ID] {
			problem("panel %s has no id of its own", p.Title)
		}
		ids[p.ID] = true
		if p.GridPos.X+p.GridPos.W > 24 {
			problem("panel %s is too wide", p.Title)
		}
		for _, other := range b.Panels[:i] {
			if overlap(p, other) {
				problem("panels %s and %s overlap", other.Title, p.Title)
			}
		}
		if p.Type == "row" {
			continue
		}
		if !strings.HasSuffix(p.Description, ".") || p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0 {
			problem("panel %s lacks a description, a unit or a query", p.Title)
		}
	}
	for _, v := range b.Templating.List {
		if v.Type != "query" {
			continue
		}
		found := selected.FindStringSubmatch(v.Query)
		if found == nil {
			problem("variable %s is no query for labels", v.Name)
			continue
		}
		m, there := list[found[1]]
		if !there || found[2] != "namespace" && !slices.Contains(m.Labels, found[2]) {
			problem("variable %s asks for label %s of %s", v.Name, found[2], found[1])
		}
	}
	return problems
}

func TestWrongPanelsAreFound(t *testing.T) {
	at := func(id, x int) panel {
		p := panel{ID: id, Title: fmt.Sprint("p", id), Type: "stat", Description: "D.", Targets: make([]struct{ Expr, LegendFormat string }, 1)}
		p.FieldConfig.Defaults.Unit = "s"
		p.GridPos.X, p.GridPos.W, p.GridPos.H = x, 4, 4
		return p
	}
	unit := at(3, 8)
	unit.FieldConfig.Defaults.Unit = ""
	for want, panels := range map[string][]panel{
		"":                              {at(1, 0), at(2, 4)},
		"panel p1 has no id of its own": {at(1, 0), at(1, 4)},
		"panels p1 and p2 overlap":      {at(1, 0), at(2, 3)},
		"panel p1 is too wide":          {at(1, 21)},
		"panel p3 lacks a description, a unit or a query": {unit},
	} {
		if got := strings.Join(wrongPanels(board{Panels: panels}, nil), "; "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
