package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/hack/release/versions"
	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
)

// thisTree returns the root of the tree, and the version of its chart.
func thisTree(t *testing.T) (root, version string) {
	t.Helper()
	root, err := assets.Root()
	if err != nil {
		t.Fatal(err)
	}
	version, err = versions.Chart(root)
	if err != nil {
		t.Fatal(err)
	}
	return root, version
}

// TestLinksOfTheReleaseLeadToFilesOfItsTag: the notes, and the pages of the chart.
func TestLinksOfTheReleaseLeadToFilesOfItsTag(t *testing.T) {
	root, version := thisTree(t)
	content, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := section(string(content), version)
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{"RELEASE_NOTES.md": notes(text, linksOf(version))}
	members, _, err := chartMembers(filepath.Join(root, "charts", "vmgroup-operator"), pins{version: version, digest: "sha256:0"})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range members {
		pages[m.name] = string(m.content)
	}
	link := regexp.MustCompile(regexp.QuoteMeta(repository) + `/(?:blob|tree)/([^/]+)/([^\s"')#>\x60]+)`)
	found := 0
	for name, page := range pages {
		for _, match := range link.FindAllStringSubmatch(page, -1) {
			found++
			if match[1] != "v"+version {
				t.Errorf("%s links to %s, not to the tag", name, match[0])
			}
			if _, err := os.Stat(filepath.Join(root, strings.TrimRight(match[2], ".,;"))); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if found < 5 {
		t.Errorf("only %d links", found)
	}
}
