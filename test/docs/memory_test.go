package docs

import (
	"math"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"
)

// settledMiB is the formula of docs/reference/sizing.md.
func settledMiB(members, groups, vms float64) float64 {
	return 55 + members + 25*groups/1000 + 1.7*(vms-groups)/1024
}

// memoryRow is a line of its table: members, groups, VMs, MiB when settled, MiB of the limit.
var memoryRow = regexp.MustCompile(`(?m)^\| ([0-9,]+) \| ([0-9,]+) \| ([0-9,]+) \| ([0-9,]+) MiB \| ([0-9,]+) MiB \|$`)

func TestTheTableOfMemoryFollowsItsFormulaAndTheDefaultLimitIsEnoughForItsFourthRow(t *testing.T) {
	page := read(t, filepath.Join(root, "docs", "reference", "sizing.md"))
	if !strings.Contains(page, "55 MiB + 1 MiB per member + 25 MiB per 1,000 groups of one VM + 1.7 KiB per further VM") {
		t.Fatal("the page has another formula than this test")
	}
	rows := memoryRow.FindAllStringSubmatch(page, -1)
	if len(rows) < 4 {
		t.Fatalf("only %d rows were found", len(rows))
	}
	for _, row := range rows {
		var figures []float64
		for _, cell := range row[1:] {
			figure, err := strconv.ParseFloat(strings.ReplaceAll(cell, ",", ""), 64)
			if err != nil {
				t.Fatal(err)
			}
			figures = append(figures, figure)
		}
		settled := settledMiB(figures[0], figures[1], figures[2])
		if math.Abs(settled-figures[3]) > 1 || math.Abs(2*settled-figures[4]) > 1 {
			t.Errorf("%s: the formula says %.1f MiB when settled, and a limit of %.1f MiB", row[0], settled, 2*settled)
		}
	}
	limit := chartMemoryLimit(t)
	if needed := settledMiB(20, 17000, 17000) * 2 * (1 << 20); float64(limit.Value()) < needed {
		t.Errorf("the chart's memory limit is %s, less than the %.0f bytes of the row that it is said to be enough for", limit.String(), needed)
	}
}

func chartMemoryLimit(t *testing.T) resource.Quantity {
	t.Helper()
	limit, _ := below(values(t), "resources", "limits")["memory"].(string)
	quantity, err := resource.ParseQuantity(limit)
	if err != nil {
		t.Fatalf("resources.limits.memory of the chart: %v", err)
	}
	return quantity
}

// TestTheDeploymentWithoutHelmHasTheMemoryOfTheChart compares config/manager with the chart, which computes GOMEMLIMIT.
func TestTheDeploymentWithoutHelmHasTheMemoryOfTheChart(t *testing.T) {
	deployment := &appsv1.Deployment{}
	if err := yaml.Unmarshal([]byte(read(t, filepath.Join(root, "config", "manager", "deployment.yaml"))), deployment); err != nil {
		t.Fatal(err)
	}
	container, limit := deployment.Spec.Template.Spec.Containers[0], chartMemoryLimit(t)
	if !container.Resources.Limits.Memory().Equal(limit) {
		t.Errorf("config/manager has a memory limit of %s, the chart %s", container.Resources.Limits.Memory(), limit.String())
	}
	want, got := strconv.FormatInt(limit.Value()*9/10>>20, 10)+"MiB", ""
	for _, variable := range container.Env {
		if variable.Name == "GOMEMLIMIT" {
			got = variable.Value
		}
	}
	if got != want {
		t.Errorf("config/manager has GOMEMLIMIT %q, want %s: 90 %% of the limit", got, want)
	}
}
