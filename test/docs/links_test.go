package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

var (
	link   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	markup = regexp.MustCompile("`|\\*\\*|\\[([^\\]]*)\\]\\([^)]*\\)")
	noSlug = regexp.MustCompile(`[^\p{L}\p{N}_\- ]`)
)

// pages are the Markdown files for users, relative to the root.
func pages(t *testing.T) []string {
	t.Helper()
	all := pagesIn(t, root)
	if len(all) < 20 {
		t.Fatalf("only %d pages were found", len(all))
	}
	return all
}

// pagesIn are the pages of a copy of the repository: those of its top, of docs and its subfolders, of test, and of charts.
func pagesIn(t *testing.T, top string) []string {
	t.Helper()
	all := filesIn(t, filepath.Join(top, "docs"), ".md")
	for _, pattern := range []string{"*.md", "test/*.md", "charts/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(top, pattern))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	return all
}

// filesIn are the files of a directory and of its subfolders that have an extension.
func filesIn(t *testing.T, directory, extension string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && filepath.Ext(path) == extension {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestPagesInSubfoldersOfDocsAreChecked(t *testing.T) {
	top := t.TempDir()
	want := []string{"docs/how-to/members/page.md", "docs/page.md", "README.md"}
	for _, name := range append(slices.Clone(want), "docs/how-to/page.txt") {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(top, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(top, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i := range want {
		want[i] = filepath.Join(top, want[i])
	}
	if got := pagesIn(t, top); !slices.Equal(got, want) {
		t.Errorf("the pages are %q, want %q", got, want)
	}
}

// prose is a page without its code blocks, which contains links and headings.
func prose(t *testing.T, page string) []string {
	t.Helper()
	lines, code := []string{}, false
	for line := range strings.Lines(read(t, page)) {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		if !fence && !code {
			lines = append(lines, line)
		}
		code = code != fence
	}
	return lines
}

func read(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// anchor is GitHub's anchor of a heading.
func anchor(heading string) string {
	text := markup.ReplaceAllString(strings.Trim(heading, "# \n"), "$1")
	return strings.ReplaceAll(noSlug.ReplaceAllString(strings.ToLower(text), ""), " ", "-")
}

func hasAnchor(t *testing.T, page, want string) bool {
	t.Helper()
	return slices.ContainsFunc(prose(t, page), func(line string) bool {
		return strings.HasPrefix(line, "#") && anchor(line) == want
	})
}

// published is where files of the repository are read without it.
var published = regexp.MustCompile(`^https://github\.com/codeconnect/vmgroup-operator/(?:blob|tree)/HEAD/`)

// within is a link as a path from the page, also if it is written as an address of this repository; other addresses are
// not checked.
func within(page, to string) (string, bool) {
	if address := published.FindString(to); address != "" {
		up, err := filepath.Rel(filepath.Dir(page), root)
		return filepath.Join(up, strings.TrimPrefix(to, address)), err == nil
	}
	return to, !strings.Contains(to, "://")
}

func TestEveryLinkLeadsSomewhere(t *testing.T) {
	for _, page := range pages(t) {
		for _, found := range link.FindAllStringSubmatch(strings.Join(prose(t, page), ""), -1) {
			to, ours := within(page, found[1])
			if !ours {
				continue
			}
			file, heading, _ := strings.Cut(to, "#")
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: there is no %s", page, found[1])
			} else if heading != "" && !hasAnchor(t, target, heading) {
				t.Errorf("%s: %s has no heading #%s", page, file, heading)
			}
		}
	}
}

// TestAPackagedChartHasWhatItsPagesLinkTo checks relative links of the chart's pages: readers of the page in an
// archive, or at a registry, have the chart but not the repository around it.
func TestAPackagedChartHasWhatItsPagesLinkTo(t *testing.T) {
	left := map[string]bool{}
	for line := range strings.Lines(read(t, filepath.Join(chart, ".helmignore"))) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "/") {
			left[strings.Trim(line, "/")] = true
		}
	}
	if !left["ci"] || !left["tests"] {
		t.Fatalf("what is not packaged is written differently now: %v", left)
	}
	for _, page := range pages(t) {
		if !strings.HasPrefix(page, chart+"/") {
			continue
		}
		for _, found := range link.FindAllStringSubmatch(strings.Join(prose(t, page), ""), -1) {
			file, _, _ := strings.Cut(found[1], "#")
			top, _, _ := strings.Cut(filepath.Clean(file), "/")
			if !strings.Contains(file, "://") && (top == ".." || left[top]) {
				t.Errorf("%s: %s is not in a packaged chart: write its address, https://github.com/codeconnect/vmgroup-operator/blob/HEAD/…", page, file)
			}
		}
	}
}
