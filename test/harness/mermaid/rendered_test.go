package mermaid

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheListHasExactlyTheDrawings(t *testing.T) {
	drawing := func(page, source string) Block { return Block{Page: page, Line: 7, Source: source} }
	one, two := drawing("a.md", "flowchart TB\n"), drawing("b.md", "flowchart LR\n")
	for _, c := range []struct {
		name   string
		stored Rendered
		now    []Block
		want   []string
	}{
		{"the same", Of([]Block{one, two}), []Block{two, one}, nil},
		{"one twice", Of([]Block{one, one}), []Block{one, one}, nil},
		{"a new one", Of([]Block{one}), []Block{one, two}, []string{"b.md:7: this drawing was not rendered", two.Hash()}},
		{"a removed one", Of([]Block{one, two}), []Block{one}, []string{"b.md: no drawing has the hash " + two.Hash()}},
		{"a second copy", Of([]Block{one}), []Block{one, one}, []string{"a.md:7: this drawing was not rendered"}},
		{"an edited one", Of([]Block{one}), []Block{drawing("a.md", "flowchart BT\n")}, []string{"a.md:7: ", "a.md: no drawing"}},
		{"on another page", Of([]Block{one}), []Block{drawing("b.md", one.Source)}, []string{"b.md:7: ", "a.md: no drawing"}},
		{"another version", Rendered{Mermaid: "1.0.0", Pages: Of([]Block{one}).Pages}, []Block{one}, []string{"Mermaid 1.0.0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.stored.Compare(c.now)
			if len(c.want) == 0 {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil {
				t.Fatal("this passes")
			}
			for _, want := range append(c.want, "Run `"+Command+"`") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in:\n%v", want, err)
				}
			}
		})
	}
}

func TestAnEditIsFoundInARepository(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", root).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := Check(t.Context(), root, nil); err == nil {
		t.Error("a repository without pages passes")
	}
	write("docs/deep/page.md", "```mermaid\nflowchart TB\n```\n")
	write("ignored/page.md", "```mermaid\nflowchart LR\n```\n")
	write(".gitignore", "/ignored/\n")
	if err := Check(t.Context(), root, nil); err == nil || !strings.Contains(err.Error(), Command) {
		t.Errorf("without the list: %v", err)
	}
	blocks, err := Repository(t.Context(), root)
	if err != nil || len(blocks) != 1 || blocks[0].String() != "docs/deep/page.md:2" {
		t.Fatalf("got %v, %v", blocks, err)
	}
	write(File, "")
	if err := Of(blocks).Write(root); err != nil {
		t.Fatal(err)
	}
	if err := Check(t.Context(), root, nil); err != nil {
		t.Error(err)
	}
	write("docs/deep/page.md", "```mermaid\nflowchart RL\n```\n")
	if err := Check(t.Context(), root, nil); err == nil || !strings.Contains(err.Error(), "docs/deep/page.md:2: ") {
		t.Errorf("after an edit: %v", err)
	}
}
