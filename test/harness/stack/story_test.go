//go:build unix

package stack

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoStoryIsTakenFromTheCacheAfterAnEditOfTheOperator: if a TestMain starts the stack, only the first line of each
// test can show its dependencies to the go command.
func TestNoStoryIsTakenFromTheCacheAfterAnEditOfTheOperator(t *testing.T) {
	files, err := filepath.Glob("../../*/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	shared, tests := map[string]bool{}, map[string][]*ast.FuncDecl{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range file.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok || function.Recv != nil {
				continue
			}
			directory := filepath.Base(filepath.Dir(name))
			if strings.HasPrefix(function.Name.Name, "Test") && function.Name.Name != "TestMain" {
				tests[directory] = append(tests[directory], function)
			}
			if filepath.Base(name) == "main_test.go" && callsStart(function) {
				shared[directory] = true
			}
		}
	}
	if !shared["admission"] {
		t.Fatalf("test/admission, whose TestMain starts the stack, was not found among %v", shared)
	}
	for directory := range shared {
		for _, function := range tests[directory] {
			if !beginsWithStory(function) {
				t.Errorf("test/%s: the first line of %s must be stack.Story(t)", directory, function.Name.Name)
			}
		}
	}
}

func callsStart(function *ast.FuncDecl) bool {
	found := false
	ast.Inspect(function, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		found = found || ok && isStack(call.Fun, "Start")
		return !found
	})
	return found
}

func beginsWithStory(function *ast.FuncDecl) bool {
	if len(function.Body.List) == 0 {
		return false
	}
	statement, ok := function.Body.List[0].(*ast.ExprStmt)
	if !ok {
		return false
	}
	call, ok := statement.X.(*ast.CallExpr)
	return ok && isStack(call.Fun, "Story")
}

func isStack(expression ast.Expr, name string) bool {
	selector, ok := expression.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	from, ok := selector.X.(*ast.Ident)
	return ok && from.Name == "stack" && selector.Sel.Name == name
}
