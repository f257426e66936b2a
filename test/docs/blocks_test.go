package docs

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	table "github.com/codeconnect/vmgroup-operator/test/e2e/pages"
	"github.com/codeconnect/vmgroup-operator/test/harness/commands"
)

// mostExceptions limits the blocks that no test runs.
const mostExceptions = 10

// TestEveryBlockOfTutorialAndGuidesRunsOrIsAnException is for those who edit a page: test/e2e runs the blocks by the same table.
func TestEveryBlockOfTutorialAndGuidesRunsOrIsAnException(t *testing.T) {
	excepted, blocks := map[table.Exception]int{}, 0
	for _, folder := range []string{"tutorial", "how-to"} {
		for _, file := range filesIn(t, filepath.Join(root, "docs", folder), ".md") {
			name, err := filepath.Rel(filepath.Join(root, "docs"), file)
			if err != nil {
				t.Fatal(err)
			}
			found, err := commands.Blocks(read(t, file))
			if err != nil {
				t.Errorf("docs/%s: %v", name, err)
			}
			for _, block := range found {
				blocks++
				exception := table.Excepted(filepath.ToSlash(name), block)
				if exception != nil {
					excepted[*exception]++
				}
				if rows := rowsOf(filepath.ToSlash(name), block); rows > 1 || rows == 0 && exception == nil {
					t.Errorf("docs/%s: block %q below %q belongs to %d rows of test/e2e/pages, want one", name, block.First(), block.Heading, rows)
				}
			}
		}
	}
	for _, exception := range table.Exceptions {
		if excepted[exception] != 1 || strings.TrimSpace(exception.Reason) == "" {
			t.Errorf("docs/%s has %d blocks that begin with %q, want one, with a reason", exception.Name, excepted[exception], exception.First)
		}
	}
	if len(table.Exceptions) > mostExceptions {
		t.Errorf("%d blocks do not run, want at most %d", len(table.Exceptions), mostExceptions)
	}
	if blocks < 90 {
		t.Errorf("only %d blocks were found", blocks)
	}
}

// rowsOf returns the number of rows that a block belongs to.
func rowsOf(page string, block commands.Fenced) (count int) {
	for _, row := range table.Table {
		if row.Covers(page, block) {
			count++
		}
	}
	return count
}

// TestEachRowFitsItsPage checks that a row has blocks, that its examples are in them, and that a shell can read the commands.
func TestEachRowFitsItsPage(t *testing.T) {
	for _, row := range table.Table {
		script, err := row.Script(read(t, filepath.Join(root, "docs", row.Name)))
		if err != nil {
			t.Errorf("docs/%s %s: %v", row.Name, row.Section, err)
			continue
		}
		if out, err := exec.CommandContext(t.Context(), "bash", "-n", "-c", table.Prelude+script).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("docs/%s: no shell reads the commands: %v: %s", row.Name, err, out)
		}
	}
}
