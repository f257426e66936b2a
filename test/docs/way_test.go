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
	// identified are the identifiers that a row names in a file.
	identified = regexp.MustCompile("`(\\w+(?:` and `\\w+)*)` in `([^`]+\\.go)`")
	path       = regexp.MustCompile("`((?:api|charts|cmd|docs|internal|test)/[^`*]+)`")
)

// TestTheWaysOnTheMapAreThoseOfTheCode: the functions exist in these files, and no way has more functions than a
// reader can remember.
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

// TestTheMapNamesIdentifiersOfTheirFiles: a row that names an identifier of a file leads to its declaration.
func TestTheMapNamesIdentifiersOfTheirFiles(t *testing.T) {
	named := identified.FindAllStringSubmatch(read(t, filepath.Join(root, "docs/explanation/architecture.md")), -1)
	if len(named) < 12 {
		t.Errorf("only %d files with identifiers were found", len(named))
	}
	for _, n := range named {
		for _, identifier := range strings.Split(n[1], "` and `") {
			declared := regexp.MustCompile(`(?m)^(?:func (?:\([^)]*\) )?|type |var |const |\t)` + identifier + `[ (]`)
			if !declared.MatchString(read(t, filepath.Join(root, n[2]))) {
				t.Errorf("the map names %s in %s, which does not declare it", identifier, n[2])
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
