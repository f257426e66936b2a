package commands

import (
	"slices"
	"testing"
)

func TestBlocksLoseTheIndentationOfTheirList(t *testing.T) {
	got, err := Blocks("# Page\n\n```text\na\n```\n\n## One\n\n1. Do:\n\n   ```sh\n   if true; then\n     echo\n\n   fi\n   ```\n\n### Detail\n\n```\nb\n```\n")
	want := []Fenced{
		{Language: "text", Text: "a\n"},
		{Language: "sh", Text: "if true; then\n  echo\n\nfi\n", Heading: "## One"},
		{Text: "b\n", Heading: "## One"},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	for name, page := range map[string]string{"no end": "```sh\na\n", "less indentation": "  ```sh\na\n  ```\n"} {
		if got, err := Blocks(page); err == nil {
			t.Errorf("%s: %q", name, got)
		}
	}
}
