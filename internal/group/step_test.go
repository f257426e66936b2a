package group

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"
)

func TestStepsHasEachStepThatIsDeclared(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "step.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var declared []Step
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			declared = append(declared, Step(spec.Names[0].Name)) // a step is named like its constant
		}
		return true
	})
	steps := Steps()
	slices.Sort(steps)
	slices.Sort(declared)
	if len(declared) == 0 || !slices.Equal(steps, declared) {
		t.Errorf("Steps are %v, declared are %v", steps, declared)
	}
}
