package ratchet

import (
	"go/ast"
	"go/token"
	"path"
	"strconv"
)

// Field is a field of a named struct whose type is a function, or a slice or map of functions. It is a callback between parts unless it is a
// clock or [Bounds].NoLinks names it. Types are read from the syntax. A named function type counts if this module declares it. For example,
// context.CancelFunc does not count.
type Field struct {
	// Directory of the package.
	Directory string
	Struct    string
	Name      string

	clock bool
}

func (f Field) String() string { return f.Directory + "." + f.Struct + "." + f.Name }

// functionFields returns the fields of function type of all named structs, in the order of the packages and their files.
func functionFields(packages []parsed) (fields []Field) {
	named := functionTypes(packages)
	for _, p := range packages {
		for _, file := range p.syntax {
			imported := imports(file)
			for spec := range typesOf(file) {
				fields = append(fields, fieldsOf(spec, p, func(t ast.Expr) (isFunction, isClock bool) { return function(t, p.path, imported, named) })...)
			}
		}
	}
	return fields
}

// fieldsOf returns the fields of function type of a struct, including those of nested structs.
func fieldsOf(spec *ast.TypeSpec, p parsed, function func(ast.Expr) (isFunction, isClock bool)) (fields []Field) {
	ast.Inspect(spec.Type, func(n ast.Node) bool {
		of, ok := n.(*ast.StructType)
		if !ok {
			_, isFunction := n.(*ast.FuncType)
			return !isFunction
		}
		for _, field := range of.Fields.List {
			isFunction, isClock := function(field.Type)
			for _, name := range field.Names {
				if isFunction {
					fields = append(fields, Field{Directory: p.directory, Struct: spec.Name.Name, Name: name.Name, clock: isClock})
				}
			}
		}
		return true
	})
	return fields
}

// functionTypes returns the named function types of all packages, as path.Name.
func functionTypes(packages []parsed) map[string]bool {
	named := map[string]bool{}
	for _, p := range packages {
		for _, file := range p.syntax {
			for spec := range typesOf(file) {
				if _, ok := spec.Type.(*ast.FuncType); ok {
					named[p.path+"."+spec.Name.Name] = true
				}
			}
		}
	}
	return named
}

// typesOf yields the types that a file declares outside of functions.
func typesOf(file *ast.File) func(yield func(*ast.TypeSpec) bool) {
	return func(yield func(*ast.TypeSpec) bool) {
		for _, declaration := range file.Decls {
			general, ok := declaration.(*ast.GenDecl)
			if !ok || general.Tok != token.TYPE {
				continue
			}
			for _, spec := range general.Specs {
				if of, ok := spec.(*ast.TypeSpec); ok && !yield(of) {
					return
				}
			}
		}
	}
}

// imports returns the imported paths of a file, by local name.
func imports(file *ast.File) map[string]string {
	paths := map[string]string{}
	for _, spec := range file.Imports {
		of, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		name := path.Base(of) // packages of this module have the names of their directories
		if spec.Name != nil {
			name = spec.Name.Name
		}
		paths[name] = of
	}
	return paths
}

// function reports whether a type is a function, or a slice or map of functions, and whether it is a clock.
func function(t ast.Expr, in string, imported map[string]string, named map[string]bool) (isFunction, isClock bool) {
	switch t := t.(type) {
	case *ast.FuncType:
		return true, tellsTime(t, imported)
	case *ast.ParenExpr:
		return function(t.X, in, imported, named)
	case *ast.StarExpr:
		return function(t.X, in, imported, named)
	case *ast.ArrayType:
		isFunction, _ = function(t.Elt, in, imported, named)
		return isFunction, false
	case *ast.MapType:
		isFunction, _ = function(t.Value, in, imported, named)
		return isFunction, false
	case *ast.Ident:
		return named[in+"."+t.Name], false
	case *ast.IndexExpr:
		return function(t.X, in, imported, named)
	case *ast.SelectorExpr:
		if of, ok := t.X.(*ast.Ident); ok {
			return named[imported[of.Name]+"."+t.Sel.Name], false
		}
	}
	return false, false
}

// tellsTime reports whether a function is a clock: func() time.Time.
func tellsTime(t *ast.FuncType, imported map[string]string) bool {
	if len(t.Params.List) > 0 || t.Results == nil || len(t.Results.List) != 1 {
		return false
	}
	result, ok := t.Results.List[0].Type.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	of, ok := result.X.(*ast.Ident)
	return ok && imported[of.Name] == "time" && result.Sel.Name == "Time"
}
