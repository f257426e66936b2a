package docs

import (
	"path/filepath"
	"regexp"
	"testing"
)

// TestTheWayOfAnEventIsTheOneThatIsDrawn holds docs/concepts.md against the code: the functions exist in these files, and there are no
// more of them than somebody can keep in mind.
func TestTheWayOfAnEventIsTheOneThatIsDrawn(t *testing.T) {
	stops := regexp.MustCompile(`(?m)^ *[├└] (\w+) +(internal/\S+\.go) `).FindAllStringSubmatch(read(t, filepath.Join(root, "docs/concepts.md")), -1)
	if len(stops) < 8 || len(stops) > 12 {
		t.Errorf("%d functions are drawn, want 12 at most", len(stops))
	}
	for _, stop := range stops {
		declared := regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + stop[1] + `\(`)
		if !declared.MatchString(read(t, filepath.Join(root, stop[2]))) {
			t.Errorf("%s has no function %s", stop[2], stop[1])
		}
	}
}
