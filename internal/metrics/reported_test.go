package metrics_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEachMetricIsReported: alerts and dashboards read the definitions, and one that no collector reports never fires.
func TestEachMetricIsReported(t *testing.T) {
	root := os.DirFS(filepath.Join("..", ".."))
	var code strings.Builder
	for _, dir := range []string{"internal", "cmd"} {
		err := fs.WalkDir(root, dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
				filepath.Base(filepath.Dir(path)) == "metrics" {
				return err
			}
			content, err := fs.ReadFile(root, path)
			code.Write(content)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	// A metric that is only described has no series.
	reported := regexp.MustCompile(`(?m)metrics\.Describe\([^)]*\)`).ReplaceAllString(code.String(), "")
	names := defined(t)
	if len(names) < 50 {
		t.Fatalf("only %d metrics are defined", len(names))
	}
	for _, name := range names {
		if !regexp.MustCompile(`\b(metrics|definitions)\.` + name + `\b`).MatchString(reported) {
			t.Errorf("no collector reports metrics.%s", name)
		}
	}
}

// defined are the names of the variables that hold metrics.
func defined(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if ok && len(spec.Values) == 1 && callsDefine(spec.Values[0]) {
				names = append(names, spec.Names[0].Name)
			}
			return true
		})
	}
	return names
}

func callsDefine(e ast.Expr) (does bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		if name, ok := n.(*ast.Ident); ok && name.Name == "define" {
			does = true
		}
		return !does
	})
	return does
}
