package mermaid

import (
	"slices"
	"strings"
	"testing"
)

func TestTheBlocksOfAPage(t *testing.T) {
	for _, c := range []struct {
		name, page string
		want       []string // "line: source"
	}{
		{"none", "# Title\n\ntext `mermaid`\n", nil},
		{"one", "a\n\n```mermaid\nflowchart TB\n  a --> b\n```\n\ntext\n", []string{"4: flowchart TB\n  a --> b\n"}},
		{"two", "```mermaid\na\n```\n```mermaid\nb\n```\n", []string{"2: a\n", "5: b\n"}},
		{"another language", "```sh\nmermaid\n```\n``` mermaid title=x\na\n```\n", []string{"5: a\n"}},
		{"in a list", "- item\n\n  ```mermaid\n  a\n    b\n  ```\n", []string{"4: a\n  b\n"}},
		{"tildes and capitals", "~~~Mermaid\na\n```\n~~~\n", []string{"2: a\n```\n"}},
		{"an example of a block", "````md\n```mermaid\na\n```\n````\n", nil},
		{"a longer end", "```mermaid\na\n`````\nb\n", []string{"2: a\n"}},
		{"no end", "```mermaid\na", []string{"2: a\n"}},
		{"line ends of Windows", "```mermaid\r\na\r\n```\r\n", []string{"2: a\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, b := range Blocks("page.md", c.page) {
				got = append(got, strings.TrimPrefix(b.String(), "page.md:")+": "+b.Source)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestTheHashIsThatOfTheSourceAlone(t *testing.T) {
	one := Block{Page: "a.md", Line: 1, Source: "flowchart TB\n"}
	moved, edited := one, one
	moved.Page, moved.Line = "b.md", 2
	edited.Source += "  a\n"
	if one.Hash() != moved.Hash() {
		t.Error("a block that moves gets another hash")
	}
	if one.Hash() == edited.Hash() {
		t.Error("a block that is edited keeps its hash")
	}
}
