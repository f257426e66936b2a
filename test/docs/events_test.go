package docs

import (
	"go/ast"
	"go/token"
	"io/fs"
	"path/filepath"
	"testing"
)

// TestReasonsOfEventsAreConstants of api/v1alpha1, from which the page of events is generated: a reason that is only in
// the code cannot be looked up.
func TestReasonsOfEventsAreConstants(t *testing.T) {
	found := 0
	literal := func(where string, e ast.Expr) {
		found++
		if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			t.Errorf("%s: the reason %s of an event is no constant", where, lit.Value)
		}
	}
	for _, top := range []string{"internal", "cmd"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.IsDir() {
				return err
			}
			files(t, path, func(name string, file *ast.File) {
				ast.Inspect(file, func(n ast.Node) bool {
					switch n := n.(type) {
					case *ast.CallExpr:
						if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Eventf" && len(n.Args) > 5 {
							literal(name, n.Args[3])
						}
					case *ast.CompositeLit:
						if id, ok := n.Type.(*ast.Ident); ok && id.Name == "Event" && len(n.Elts) == 4 {
							literal(name, n.Elts[1])
						}
					}
					return true
				})
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 10 {
		t.Errorf("only %d events were found", found)
	}
}
