package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const changelog = `# Changelog

## Unreleased

- too new

## 0.2.0 - 2026-12-01

What users read first.

### Added

- A ` + "`flag`" + ` with [a page](docs/page.md#part), in
  two lines.

### Fixed

- [Elsewhere](https://example.com/x).

## [0.1.0]

### Removed

- Something.
`

func TestNotesAreTheSectionOfTheVersionWithLinksThatWorkElsewhere(t *testing.T) {
	text, err := section(changelog, "0.2.0")
	if err != nil {
		t.Fatal(err)
	}
	want := "What users read first.\n\n### Added\n\n- A `flag` with [a page](" + repository + "/blob/v0.2.0/docs/page.md#part), in\n  two lines.\n\n" +
		"### Fixed\n\n- [Elsewhere](https://example.com/x).\n"
	if diff := cmp.Diff(want, notes(text, linksOf("0.2.0"))); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	if text, err := section(changelog, "0.1.0"); err != nil || !strings.Contains(text, "Something") {
		t.Errorf("a heading in brackets gives %q, %v", text, err)
	}
	for _, version := range []string{"0.3.0", "0.2", "Unreleased "} {
		if _, err := section(changelog, version); err == nil || !strings.Contains(err.Error(), "CHANGELOG.md has no text") {
			t.Errorf("version %q: error %v", version, err)
		}
	}
}

func TestChangesAreTheItemsOfTheSectionAsPlainText(t *testing.T) {
	text, err := section(changelog, "0.2.0")
	if err != nil {
		t.Fatal(err)
	}
	got, err := changes(text, linksOf("0.2.0"))
	if err != nil {
		t.Fatal(err)
	}
	want := []change{
		{Kind: "added", Description: "A flag with a page, in two lines.", Links: []changeLink{{"a page", repository + "/blob/v0.2.0/docs/page.md#part"}}},
		{Kind: "fixed", Description: "Elsewhere.", Links: []changeLink{{"Elsewhere", "https://example.com/x"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	for text, want := range map[string]string{
		"### New\n- x\n": "choose one of Keep a Changelog", "- x\n": "below no heading", "### Added\ntext\n": "no list of changes",
	} {
		if _, err := changes(text, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}
