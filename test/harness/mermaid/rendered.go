package mermaid

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
)

const (
	// File has the hashes of the drawings that rendered. It is relative to the root of the repository.
	File = "test/drawings/rendered.yaml"
	// Command renders all drawings and writes File.
	Command = "make drawings"
)

// Rendered is the content of [File].
type Rendered struct {
	// Mermaid is the version that rendered the drawings.
	Mermaid string `json:"mermaid"`
	// Pages have the hashes of their drawings, from top to bottom.
	Pages map[string][]string `json:"pages"`
}

// Of returns the content of [File] for drawings that rendered.
func Of(blocks []Block) Rendered {
	r := Rendered{Mermaid: assets.MermaidVersion, Pages: map[string][]string{}}
	for _, b := range blocks {
		r.Pages[b.Page] = append(r.Pages[b.Page], b.Hash())
	}
	return r
}

// Write writes [File].
func (r Rendered) Write(root string) error {
	text, err := yaml.Marshal(r)
	if err != nil {
		return err
	}
	head := "# The hashes of the drawings that rendered. `" + Command + "` renders them and writes this file.\n"
	return os.WriteFile(filepath.Join(root, File), append([]byte(head), text...), 0o644)
}

// Check returns an error if [File] does not list exactly the drawings of the repository. It needs no browser.
func Check(ctx context.Context, root string, _ []string) error {
	blocks, err := Repository(ctx, root)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(root, File))
	if err != nil {
		return fmt.Errorf("%w: run `%s`", err, Command)
	}
	var stored Rendered
	if err := yaml.UnmarshalStrict(text, &stored); err != nil {
		return fmt.Errorf("read %s: %w: run `%s`", File, err, Command)
	}
	return stored.Compare(blocks)
}

// Compare returns the drawings that are not in the list, and the entries of the list that have no drawing.
func (r Rendered) Compare(blocks []Block) error {
	var problems []error
	if r.Mermaid != assets.MermaidVersion {
		problems = append(problems, fmt.Errorf("  %s is of Mermaid %s, not of %s", File, r.Mermaid, assets.MermaidVersion))
	}
	left := map[string][]string{}
	for page, hashes := range r.Pages {
		left[page] = slices.Clone(hashes)
	}
	for _, b := range blocks {
		if i := slices.Index(left[b.Page], b.Hash()); i >= 0 {
			left[b.Page] = slices.Delete(left[b.Page], i, i+1)
			continue
		}
		problems = append(problems, fmt.Errorf("  %s: this drawing was not rendered: %s does not have its hash %s", b, File, b.Hash()))
	}
	for _, page := range slices.Sorted(maps.Keys(left)) {
		for _, hash := range left[page] {
			problems = append(problems, fmt.Errorf("  %s: no drawing has the hash %s of %s", page, hash, File))
		}
	}
	if len(problems) > 0 {
		problems = append(problems, fmt.Errorf("  Run `%s` and commit %s", Command, File))
	}
	return errors.Join(problems...)
}
