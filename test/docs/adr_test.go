package docs

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

func TestEveryDecisionHasAStatus(t *testing.T) {
	for _, page := range decisions(t) {
		if lines := strings.SplitN(read(t, page), "\n", 4); len(lines) < 4 || !strings.HasPrefix(lines[2], "**Status.** ") {
			t.Errorf("the third line of %s does not begin with **Status.**", page)
		}
	}
}

func TestTheIndexHasEveryDecisionAndItsTitle(t *testing.T) {
	index := read(t, filepath.Join(root, "docs/adr/README.md"))
	for _, page := range decisions(t) {
		title, _, _ := strings.Cut(strings.TrimPrefix(read(t, page), "# "), "\n")
		number, title, _ := strings.Cut(title, ". ")
		if row := fmt.Sprintf("- [%s](%s): %s", number, filepath.Base(page), title); !strings.Contains(index, row) {
			t.Errorf("docs/adr/README.md lacks the row %q", row)
		}
	}
}

func decisions(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root, "docs/adr/[0-9]*.md"))
	if err != nil || len(found) < 30 {
		t.Fatalf("%d decisions were found: %v", len(found), err)
	}
	return found
}
