package ratchet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// linkedPackage is a package of this module that is linked into a program.
type linkedPackage struct {
	// path is the import path, and directory is relative to the root.
	path, directory string
	// files are the full paths of the compiled files.
	files []string
}

// linked lists the packages of this module that a program links.
func linked(ctx context.Context, root, program string) (packages []linkedPackage, err error) {
	command := exec.CommandContext(ctx, "go", "list", "-deps", "-json=ImportPath,Dir,GoFiles,Module", program)
	command.Dir = root
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go list -deps %s: %w", program, err)
	}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Dir string
			GoFiles         []string
			Module          *struct{ Main bool }
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list -deps %s: %w", program, err)
		}
		if p.Module == nil || !p.Module.Main {
			continue
		}
		directory, err := filepath.Rel(root, p.Dir)
		if err != nil {
			return nil, err
		}
		of := linkedPackage{path: p.ImportPath, directory: filepath.ToSlash(directory)}
		for _, name := range p.GoFiles {
			of.files = append(of.files, filepath.Join(p.Dir, name))
		}
		packages = append(packages, of)
	}
}

// measure counts lines and callbacks. The keys of noLinks are fields that are no callbacks.
func measure(packages []linkedPackage, noLinks map[string]string) (Numbers, error) {
	n := Numbers{Lines: map[string]int{}}
	var syntax []parsed
	for _, p := range packages {
		of := parsed{linkedPackage: p}
		for _, name := range p.files {
			text, err := os.ReadFile(name)
			if err != nil {
				return n, err
			}
			n.Lines[p.directory] += bytes.Count(text, []byte("\n"))
			file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
			if err != nil {
				return n, err
			}
			of.syntax = append(of.syntax, file)
		}
		syntax = append(syntax, of)
	}
	for _, f := range functionFields(syntax) {
		if _, listed := noLinks[f.String()]; listed || f.clock {
			n.NoLinks = append(n.NoLinks, f)
		} else {
			n.Callbacks = append(n.Callbacks, f)
		}
	}
	return n, nil
}

// parsed is a package with its syntax.
type parsed struct {
	linkedPackage
	syntax []*ast.File
}
