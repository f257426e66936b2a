package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	stop = regexp.MustCompile(`(?m)^ *[├└] (\w+) +(internal/\S+\.go) `)
	path = regexp.MustCompile("`((?:api|charts|cmd|docs|internal|test)/[^`*]+)`")
)

// TestTheWaysOnTheMapAreThoseOfTheCode: the functions exist in these files, and no way has more of them than somebody can keep in mind.
func TestTheWaysOnTheMapAreThoseOfTheCode(t *testing.T) {
	ways := strings.Split(read(t, filepath.Join(root, "docs/explanation/architecture.md")), "\n## The way of ")[1:]
	if len(ways) != 4 {
		t.Fatalf("%d ways are drawn, want 4", len(ways))
	}
	for _, way := range ways {
		name, _, _ := strings.Cut(way, "\n")
		stops := stop.FindAllStringSubmatch(way, -1)
		if len(stops) < 5 || len(stops) > 12 {
			t.Errorf("the way of %s has %d functions, want 5 to 12", name, len(stops))
		}
		for _, stop := range stops {
			declared := regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + stop[1] + `\(`)
			if !declared.MatchString(read(t, filepath.Join(root, stop[2]))) {
				t.Errorf("the way of %s: %s has no function %s", name, stop[2], stop[1])
			}
		}
	}
}

func TestTheMapNamesWhatExists(t *testing.T) {
	named := path.FindAllStringSubmatch(read(t, filepath.Join(root, "docs/explanation/architecture.md")), -1)
	if len(named) < 60 {
		t.Errorf("only %d files and packages were found", len(named))
	}
	for _, n := range named {
		if _, err := os.Stat(filepath.Join(root, n[1])); err != nil {
			t.Errorf("the map names %s: %v", n[1], err)
		}
	}
}
