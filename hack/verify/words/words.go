// Package words counts terms that the project's style rejects in what people read: comments and string literals of Go, documentation, and the
// texts of the chart and the manifests. [File] has the terms and, for each folder that still uses some, the most that it can have. A folder without a bound has none.
package words

import (
	"context"
	"errors"
	"fmt"
	"go/scanner"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// File has the terms and the bounds, relative to the root of the repository.
const File = "hack/verify/words.yaml"

// Style is the content of [File].
type Style struct {
	// Terms that are rejected.
	Terms []Term `json:"terms"`
	// Allowed are folders, relative to the root, that are not read, with the reason.
	Allowed map[string]string `json:"allowed"`
	// Most is the number of rejected terms that a folder can have, without its subfolders.
	Most map[string]int `json:"most"`
}

// Term is a rejected term.
type Term struct {
	// Pattern is a regular expression. It matches whole words, in upper and lower case.
	Pattern string `json:"pattern"`
	// Instead is what to write.
	Instead string `json:"instead"`

	matcher *regexp.Regexp
}

// Finding is a rejected term in a file.
type Finding struct {
	File string
	Line int
	// Text that matches.
	Text string
	Term Term
}

func (f Finding) String() string {
	return fmt.Sprintf("%s:%d %q: write %s", f.File, f.Line, f.Text, f.Term.Instead)
}

// Check reads files, which are relative to root, and fails if a folder has more rejected terms than its bound.
func Check(_ context.Context, root string, files []string) error {
	text, err := os.ReadFile(filepath.Join(root, File))
	if err != nil {
		return err
	}
	style, err := parse(text)
	if err != nil {
		return err
	}
	found := map[string][]Finding{}
	for _, name := range files {
		if !style.reads(name) {
			continue
		}
		content, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		folder := path.Dir(name)
		found[folder] = append(found[folder], style.find(name, content)...)
	}
	return errors.Join(append(style.exceeded(found), style.unused(found)...)...)
}

func parse(text []byte) (s Style, err error) {
	if err := yaml.UnmarshalStrict(text, &s); err != nil {
		return s, fmt.Errorf("read %s: %w", File, err)
	}
	for i := range s.Terms {
		t := &s.Terms[i]
		if t.matcher, err = regexp.Compile(`(?i)\b(?:` + t.Pattern + `)\b`); err != nil {
			return s, fmt.Errorf("read %s: %w", File, err)
		}
	}
	return s, nil
}

// reads reports whether people read a file, and the style applies to it.
func (s *Style) reads(name string) bool {
	if slices.Contains(strings.Split(name, "/"), "testdata") || name == File {
		return false
	}
	for folder := range s.Allowed {
		if strings.HasPrefix(name, folder+"/") {
			return false
		}
	}
	return slices.Contains([]string{".go", ".md", ".yaml", ".tpl", ".txt"}, path.Ext(name))
}

// find returns the rejected terms in a file, in their order.
func (s *Style) find(name string, content []byte) (found []Finding) {
	for _, p := range passages(name, content) {
		for _, t := range s.Terms {
			for _, at := range t.matcher.FindAllStringIndex(p.text, -1) {
				line := p.line + strings.Count(p.text[:at[0]], "\n")
				found = append(found, Finding{File: name, Line: line, Text: p.text[at[0]:at[1]], Term: t})
			}
		}
	}
	return found
}

// exceeded names the folders that have more rejected terms than they can have. Which of them are new is not known, so it names all.
func (s *Style) exceeded(found map[string][]Finding) (problems []error) {
	for _, folder := range slices.Sorted(maps.Keys(found)) {
		most := s.Most[folder]
		if n := len(found[folder]); n > most {
			var list strings.Builder
			for _, f := range found[folder] {
				fmt.Fprintf(&list, "\n    %s", f)
			}
			problems = append(problems, fmt.Errorf("  %s has %d rejected terms, at most %d; see %s:%s", folder, n, most, File, list.String()))
		}
	}
	return problems
}

// unused names bounds that are not needed any more.
func (s *Style) unused(found map[string][]Finding) (problems []error) {
	for _, folder := range slices.Sorted(maps.Keys(s.Most)) {
		if len(found[folder]) == 0 {
			problems = append(problems, fmt.Errorf("  %s has no rejected term: remove its bound from %s", folder, File))
		}
	}
	return problems
}

// passage is text that people read, and the line on which it begins.
type passage struct {
	text string
	line int
}

// passages are the comments and string literals of a Go file, and the whole of any other.
func passages(name string, content []byte) (all []passage) {
	if path.Ext(name) != ".go" {
		return []passage{{string(content), 1}}
	}
	files := token.NewFileSet()
	file := files.AddFile(name, -1, len(content))
	var s scanner.Scanner
	s.Init(file, content, nil, scanner.ScanComments)
	for {
		at, kind, literal := s.Scan()
		switch kind {
		case token.EOF:
			return all
		case token.COMMENT, token.STRING:
			all = append(all, passage{literal, file.Line(at)})
		}
	}
}
