package group

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
)

// documented is a row of the table of reasons in docs/reference/vmgroup.md.
type documented struct {
	reason string
	phases []string
}

func documentedReasons(t *testing.T) []documented {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "vmgroup.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "| Reason | Phase | What to do |\n")
	if !found {
		t.Fatal("docs/reference/vmgroup.md has no table of reasons")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	var rows []documented
	name := regexp.MustCompile("`([A-Za-z]+)`")
	for _, line := range strings.Split(table, "\n")[1:] {
		cells := strings.Split(line, "|")
		for _, match := range name.FindAllStringSubmatch(cells[1], -1) {
			rows = append(rows, documented{match[1], strings.Split(strings.TrimSpace(cells[2]), ", ")})
		}
	}
	return rows
}

// TestEveryReasonMeansWhatItsRowInTheDocumentationSays blocks a group with each reason, in each phase that the table
// names.
func TestEveryReasonMeansWhatItsRowInTheDocumentationSays(t *testing.T) {
	normal := []string{v1alpha1.ReasonRolloutProgressing, v1alpha1.ReasonRestamping, v1alpha1.ReasonAdopting, v1alpha1.ReasonDeletionPending, v1alpha1.ReasonPaused, v1alpha1.ReasonMemberPaused} // the operator's own work, or requested
	unseen := []string{v1alpha1.ReasonVCenterUnreachable, v1alpha1.ReasonInventoryIncomplete}
	rows := documentedReasons(t)
	if len(rows) < 30 {
		t.Fatalf("only %d reasons were found in the table", len(rows))
	}
	for _, row := range rows {
		for _, phase := range row.phases {
			f := running()
			f.Complete = !slices.Contains(unseen, row.reason)
			if phase != string(v1alpha1.PhaseRunning) {
				f.Plan.Desired, f.Plan.Settled = 3, false
			}
			before := f
			before.Complete = true
			f.Old = before.Status()
			f.Plan.Blockers = []plan.Blocker{{Reason: row.reason, Message: "why", Terminal: phase == string(v1alpha1.PhaseError)}}
			s := f.Status()
			if string(s.Phase) != phase {
				t.Errorf("%s: phase is %s, and %s in the table", row.reason, s.Phase, phase)
			}
			kind, result := corev1.EventTypeWarning, status.InProgressStatus
			switch phase {
			case string(v1alpha1.PhaseError):
				result = status.FailedStatus
			case string(v1alpha1.PhaseRunning):
				kind, result = "", status.CurrentStatus
			}
			if slices.Contains(normal, row.reason) && phase != string(v1alpha1.PhaseRunning) {
				kind = corev1.EventTypeNormal
			}
			if got := kstatusOf(t, s); got != result {
				t.Errorf("%s, %s: kstatus is %s, want %s", row.reason, phase, got, result)
			}
			if got := typesOf(Events(f.Old, s)); got != kind {
				t.Errorf("%s, %s: events are of types %q, want %q", row.reason, phase, got, kind)
			}
			if s.LastMessage == messageReconciled || !strings.Contains(s.LastMessage, "why") {
				t.Errorf("%s, %s: lastMessage is %q", row.reason, phase, s.LastMessage)
			}
		}
	}
}

func typesOf(events []Event) string {
	types := make([]string, 0, len(events))
	for _, e := range events {
		types = append(types, e.Type)
	}
	return strings.Join(types, " ")
}

// kstatusOf calls the library that kpt, Flux and Helm use.
func kstatusOf(t *testing.T, s v1alpha1.VmGroupStatus) status.Status {
	t.Helper()
	group := &v1alpha1.VmGroup{Status: s}
	group.APIVersion, group.Kind, group.Name, group.Generation = v1alpha1.GroupVersion.String(), "VmGroup", "vg-1", s.ObservedGeneration
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(group)
	if err != nil {
		t.Fatal(err)
	}
	result, err := status.Compute(&unstructured.Unstructured{Object: content})
	if err != nil {
		t.Fatal(err)
	}
	return result.Status
}

// TestTheTableOfReasonsIsThatOfTheCode reads the sources. The table must contain each reason with which code blocks a
// group: with ERROR if the code requires a user's action, and PENDING if not.
func TestTheTableOfReasonsIsThatOfTheCode(t *testing.T) {
	uses := map[string]*use{}
	for _, pattern := range []string{"../plan/*.go", "../group/*.go", "../controller/vmgroup/*.go", "../observe/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				readUses(t, file, uses)
			}
		}
	}
	table := map[string][]string{}
	for _, row := range documentedReasons(t) {
		table[row.reason] = row.phases
	}
	for name, u := range uses {
		phases, listed := table[name]
		switch {
		case !listed && (u.stalls || u.waits):
			t.Errorf("%s is put in the way of groups, and not in the table", name)
		case u.stalls && !slices.Contains(phases, "ERROR"):
			t.Errorf("%s can stall a group, and the table says %q", name, phases)
		case u.waits && !slices.Contains(phases, "PENDING"):
			t.Errorf("%s can hold a group up without stalling it, and the table says %q", name, phases)
		}
	}
	if len(uses) < 40 {
		t.Errorf("only %d reasons were found in the sources", len(uses))
	}
}

// use is how sources use a reason: in a plan.Blocker or beside a bool that becomes its Terminal.
type use struct{ stalls, waits bool }

func readUses(t *testing.T, file string, uses map[string]*use) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var above []ast.Node
	ast.Inspect(parsed, func(n ast.Node) bool {
		if n == nil {
			above = above[:len(above)-1]
			return true
		}
		above = append(above, n)
		selector, ok := n.(*ast.SelectorExpr)
		if !ok || !strings.HasPrefix(selector.Sel.Name, "Reason") || len(selector.Sel.Name) == len("Reason") {
			return true
		}
		if from, ok := selector.X.(*ast.Ident); !ok || from.Name != "v1alpha1" {
			return true
		}
		u := uses[strings.TrimPrefix(selector.Sel.Name, "Reason")]
		if u == nil {
			u = &use{}
			uses[strings.TrimPrefix(selector.Sel.Name, "Reason")] = u
		}
		switch stands(innermost(above)) {
		case "true":
			u.stalls = true
		case "false":
			u.waits = true
		}
		return true
	})
}

// innermost returns the literal, call or return that contains a reason.
func innermost(above []ast.Node) ast.Node {
	for _, n := range slices.Backward(above) {
		switch n.(type) {
		case *ast.CompositeLit, *ast.CallExpr, *ast.ReturnStmt:
			return n
		}
	}
	return nil
}

// stands returns the bool beside a reason, as "true", "false", or "" if there is none or it is computed.
func stands(n ast.Node) string {
	var beside []ast.Expr
	switch n := n.(type) {
	case *ast.CallExpr:
		beside = n.Args
	case *ast.ReturnStmt:
		beside = n.Results
	case *ast.CompositeLit:
		if name := nameOf(n.Type); name != "Blocker" {
			return ""
		}
		for _, element := range n.Elts {
			if pair, ok := element.(*ast.KeyValueExpr); ok && nameOf(pair.Key) == "Terminal" {
				beside = append(beside, pair.Value)
			}
		}
		if len(beside) == 0 {
			return "false"
		}
	}
	for _, e := range beside {
		if name := nameOf(e); name == "true" || name == "false" {
			return name
		}
	}
	return ""
}

// nameOf returns the last name of an identifier or a selector, or "".
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}
