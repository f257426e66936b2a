package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEverySuiteIsOnThePageThatSaysWhereABehaviourIsTested(t *testing.T) {
	page := read(t, filepath.Join(root, "test", "README.md"))
	suites := 0
	for _, directory := range []string{"", "harness/"} {
		entries, err := os.ReadDir(filepath.Join(root, "test", directory))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if !e.IsDir() || e.Name() == "harness" {
				continue
			}
			suites++
			if link := "[`" + e.Name() + "`](" + directory + e.Name() + ")"; !strings.Contains(page, link) {
				t.Errorf("test/README.md lacks %s", link)
			}
		}
	}
	if suites < 20 {
		t.Errorf("only %d directories were found", suites)
	}
}
