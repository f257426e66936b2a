package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

// TestEveryFlagHasAnEffect looks for code that reads a flag's value, besides the code that declares and checks it.
func TestEveryFlagHasAnEffect(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	fields, read := map[string]bool{}, map[string]bool{}
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		inspectOptions(parsed, fields, read)
	}
	if len(fields) < 25 {
		t.Fatalf("only %d options were found", len(fields))
	}
	for field := range fields {
		if !read[field] {
			t.Errorf("nothing reads option %s: remove its flag until something does", field)
		}
	}
}

// inspectOptions notes the fields of options that a file declares, and those that it reads.
func inspectOptions(parsed *ast.File, fields, read map[string]bool) {
	ast.Inspect(parsed, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.TypeSpec:
			if of, ok := node.Type.(*ast.StructType); ok && node.Name.Name == "options" {
				for _, field := range of.Fields.List {
					for _, name := range field.Names {
						fields[name.Name] = true
					}
				}
			}
		case *ast.FuncDecl:
			return !strings.HasPrefix(node.Name.Name, "check")
		case *ast.UnaryExpr: // a flag that is declared
			_, field := node.X.(*ast.SelectorExpr)
			return node.Op != token.AND || !field
		case *ast.SelectorExpr:
			if x, ok := node.X.(*ast.Ident); ok && (x.Name == "o" || x.Name == "opts") {
				read[node.Sel.Name] = true
			}
		}
		return true
	})
}
