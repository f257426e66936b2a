package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

// TestEveryFlagHasAnEffect looks for code of the operator that reads an option.
func TestEveryFlagHasAnEffect(t *testing.T) {
	const wiring = "../../internal/operator/"
	files, err := os.ReadDir(wiring)
	if err != nil {
		t.Fatal(err)
	}
	fields, read := map[string]bool{}, map[string]bool{}
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), wiring+file.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		inspectOptions(parsed, fields, read)
	}
	if len(fields) < 20 {
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
			if of, ok := node.Type.(*ast.StructType); ok && node.Name.Name == "Options" {
				for _, field := range of.Fields.List {
					for _, name := range field.Names {
						fields[name.Name] = true
					}
				}
			}
		case *ast.SelectorExpr:
			if x, ok := node.X.(*ast.Ident); ok && x.Name == "o" {
				read[node.Sel.Name] = true
			}
		}
		return true
	})
}
