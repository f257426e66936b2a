package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/plan"
)

// writers are the packages that write the conditions of a kind, by the page to which the kind's CRD refers.
var writers = map[string][]string{
	"docs/reference/vmgroup.md":       {"internal/controller/vmgroup", "internal/observe", "internal/group", "internal/group/massdeletion", "internal/plan", "internal/policy"},
	"docs/reference/vcenter.md":       {"internal/controller/vcenter"},
	"docs/reference/membercluster.md": {"internal/controller/member", "internal/controller/member/admission", "internal/controller/member/caches", "internal/controller/member/install", "internal/controller/member/join", "internal/controller/member/leave", "internal/controller/member/link", "internal/controller/member/remote", "internal/controller/member/settings"},
	"docs/reference/vmgrouppolicy.md": {"internal/controller/policy"},
}

// onlyRead has, by page, conditions that code of another kind sets: code of groups only reads these conditions of a VCenter.
var onlyRead = map[string][]string{"docs/reference/vmgroup.md": {"ConditionReachable", "ConditionCredentialsValid"}}

// TestEveryConditionAndReasonIsOnThePageOfItsKind finds those that the code writes. A reason that a reader cannot
// look up is useless.
func TestEveryConditionAndReasonIsOnThePageOfItsKind(t *testing.T) {
	values := constants(t, filepath.Join(root, "api", "v1alpha1"))
	for page, packages := range writers {
		text, names := read(t, filepath.Join(root, page)), map[string]bool{}
		for _, directory := range packages {
			maps.Copy(names, used(t, filepath.Join(root, directory)))
		}
		if len(names) < 3 {
			t.Errorf("%s: only %d conditions and reasons were found in %v", page, len(names), packages)
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if value := values[name]; value == "" {
				t.Errorf("%s is used and not declared", name)
			} else if !explains(text, name, value) && !slices.Contains(onlyRead[page], name) {
				t.Errorf("%s does not explain `%s`", page, value)
			}
		}
	}
}

// explains reports whether a page has a condition at the beginning of a row, or a reason anywhere.
func explains(page, name, value string) bool {
	if strings.HasPrefix(name, "Condition") {
		return strings.Contains(page, "\n| `"+value+"` |")
	}
	return strings.Contains(page, "`"+value+"`")
}

// TestThePageOfConditionsIsTheOneThatTheCRDNames keeps the list above complete.
func TestThePageOfConditionsIsTheOneThatTheCRDNames(t *testing.T) {
	count := 0
	files(t, filepath.Join(root, "api", "v1alpha1"), func(_ string, file *ast.File) {
		for _, group := range file.Comments {
			text := strings.Join(strings.Fields(group.Text()), " ")
			_, after, found := strings.Cut(text, "; see ")
			page, _, named := strings.Cut(after, " for types and reasons")
			if !found || !named {
				continue
			}
			if count++; writers[page] == nil {
				t.Errorf("a CRD sends readers to %s, which this test does not know", page)
			}
		}
	})
	if count != len(writers) {
		t.Errorf("%d kinds send their readers to a page, and this test knows %d", count, len(writers))
	}
}

func TestEveryCauseOfARemovalIsExplained(t *testing.T) {
	page := read(t, filepath.Join(root, "docs", "explanation", "deletion.md"))
	_, section, _ := strings.Cut(page, "## Who deleted a VM")
	for _, cause := range plan.RemovalCauses {
		if !strings.Contains(section, "`"+string(cause)+"`") {
			t.Errorf("docs/explanation/deletion.md does not explain the cause %q of vmgroup_vms_destroyed_total", cause)
		}
	}
}

// files visits the Go files of a directory, without tests.
func files(t *testing.T, directory string, visit func(string, *ast.File)) {
	t.Helper()
	entries, err := os.ReadDir(directory)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !isSource(entry) {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(directory, entry.Name()), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		visit(entry.Name(), file)
	}
}

func isConditionOrReason(name string) bool {
	return strings.HasPrefix(name, "Condition") || strings.HasPrefix(name, "Reason")
}

// constants are the conditions and reasons that a package declares, by name.
func constants(t *testing.T, directory string) map[string]string {
	t.Helper()
	values := map[string]string{}
	files(t, directory, func(_ string, file *ast.File) {
		ast.Inspect(file, func(node ast.Node) bool {
			spec, ok := node.(*ast.ValueSpec)
			if !ok || !isConditionOrReason(spec.Names[0].Name) || len(spec.Values) != 1 {
				return true
			}
			if literal, ok := spec.Values[0].(*ast.BasicLit); ok {
				values[spec.Names[0].Name], _ = strconv.Unquote(literal.Value)
			}
			return true
		})
	})
	return values
}

// used are the conditions and reasons of the API that a package names.
func used(t *testing.T, directory string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	files(t, directory, func(_ string, file *ast.File) {
		ast.Inspect(file, func(node ast.Node) bool {
			selector, ok := node.(*ast.SelectorExpr)
			if !ok || !isConditionOrReason(selector.Sel.Name) {
				return true
			}
			if of, ok := selector.X.(*ast.Ident); ok && of.Name == "v1alpha1" {
				names[selector.Sel.Name] = true
			}
			return true
		})
	})
	return names
}
