package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestGoalsAreJudged(t *testing.T) {
	for _, c := range []struct {
		value   float64
		goal    goal
		text    string
		verdict string
	}{
		{1.1, atMost(1.1), "<= 1.1", "yes"},
		{1.11, atMost(1.1), "<= 1.1", "NO"},
		{0, atMost(0), "<= 0", "yes"},
		{4.5, atLeast(4.5), ">= 4.5", "yes"},
		{4.4, atLeast(4.5), ">= 4.5", "NO"},
		{math.NaN(), atMost(1), "<= 1", "NO"},
		{math.NaN(), atLeast(1), ">= 1", "NO"},
		{7, noGoal, "", ""},
	} {
		r := judge("n", c.value, "u", c.goal, "c")
		if r.Goal != c.text || r.verdict() != c.verdict {
			t.Errorf("%v with goal %+v: goal %q, verdict %q, want %q and %q", c.value, c.goal, r.Goal, r.verdict(), c.text, c.verdict)
		}
	}
}

func TestNumbersAreShort(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 1.09512: "1.095", 11.7708: "11.77", 120000.4: "120000", 0.00123456: "0.001235", 48: "48"} {
		if got := number(v); got != want {
			t.Errorf("%v is printed as %s, want %s", v, got, want)
		}
	}
}

func TestTableIsMarkdown(t *testing.T) {
	var out strings.Builder
	err := printTable(&out, []result{judge("a/b", 1.5, "x", atMost(1), "on a table"), judge("c", 2, "calls", noGoal, "")})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 4 {
		t.Fatalf("table:\n%s", out.String())
	}
	for _, line := range lines {
		if strings.Count(line, "|") != 7 {
			t.Errorf("line %q does not have six cells", line)
		}
	}
	if got := strings.Join(strings.Fields(lines[2]), " "); got != "| a/b | 1.5 | x | <= 1 | NO | on a table |" {
		t.Errorf("row %q", got)
	}
}

func TestResultsFileSaysNullWithoutAGoal(t *testing.T) {
	file := filepath.Join(t.TempDir(), "results.json")
	if err := writeResults(file, []result{judge("a", 1, "x", atMost(1), "c"), judge("b", 2, "x", noGoal, "c")}); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var back []map[string]any
	if err := json.Unmarshal(content, &back); err != nil {
		t.Fatal(err)
	}
	if len(back) != 2 || back[0]["ok"] != true || back[1]["ok"] != nil || back[0]["goal"] != "<= 1" || len(back[1]) != 6 {
		t.Errorf("file:\n%s", content)
	}
	if writeResults(file, []result{judge("a", math.NaN(), "x", noGoal, "")}) == nil {
		t.Error("a value that is not a number was written")
	}
}
