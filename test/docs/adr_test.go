package docs

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestEveryDecisionHasAStatus(t *testing.T) {
	decisions, err := filepath.Glob(filepath.Join(root, "docs/adr/*.md"))
	if err != nil || len(decisions) < 30 {
		t.Fatalf("%d decisions were found: %v", len(decisions), err)
	}
	for _, page := range decisions {
		if lines := strings.SplitN(read(t, page), "\n", 4); len(lines) < 4 || !strings.HasPrefix(lines[2], "**Status.** ") {
			t.Errorf("the third line of %s does not begin with **Status.**", page)
		}
	}
}
