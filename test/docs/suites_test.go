package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEverySuiteIsOnThePageThatSaysWhereABehaviourIsTested(t *testing.T) {
	page := read(t, filepath.Join(root, "test", "README.md"))
	entries, err := os.ReadDir(filepath.Join(root, "test"))
	if err != nil {
		t.Fatal(err)
	}
	suites := 0
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		suites++
		if link := "[`" + e.Name() + "`](" + e.Name() + ")"; !strings.Contains(page, link) {
			t.Errorf("test/README.md lacks %s", link)
		}
	}
	if suites < 20 {
		t.Errorf("only %d directories were found", suites)
	}
}
