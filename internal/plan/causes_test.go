package plan

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"
)

// TestEveryCauseOfARemovalIsListed reads the constants: the metric's help, and the page that
// explains it, are generated from the list.
func TestEveryCauseOfARemovalIsListed(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "output.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); !ok || kind.Name != "RemovalCause" {
			return true
		}
		for i, name := range spec.Names {
			count++
			value, err := strconv.Unquote(spec.Values[i].(*ast.BasicLit).Value)
			if err != nil || !slices.Contains(RemovalCauses, RemovalCause(value)) {
				t.Errorf("RemovalCauses lacks %s (%v)", name.Name, err)
			}
		}
		return true
	})
	if count < 3 || count != len(RemovalCauses) {
		t.Errorf("%d constants were found, and %d causes are listed", count, len(RemovalCauses))
	}
}
