package words

import (
	"strings"
	"testing"
)

func style(t *testing.T, text string) Style {
	t.Helper()
	s, err := parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTermsAreFoundInCommentsAndStringsOnly(t *testing.T) {
	s := style(t, "terms: [{pattern: 'gates?', instead: admission}]")
	const source = "package a\n\n// A gate.\nvar gate = `of\nGates` + \"agates\"\n"
	found := s.find("a/a.go", []byte(source))
	got := make([]string, len(found))
	for i, f := range found {
		got[i] = f.String()
	}
	want := []string{`a/a.go:3 "gate": write admission`, `a/a.go:5 "Gates": write admission`}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestAFolderCannotHaveMoreRejectedTermsThanItsBound(t *testing.T) {
	s := style(t, "terms: [{pattern: ought, instead: must}]\nmost: {a: 1, b: 1, c: 1}")
	found := map[string][]Finding{
		"a": s.find("a/x.md", []byte("It ought.")),
		"b": s.find("b/x.md", []byte("It ought,\nand ought.")),
		"d": s.find("d/x.md", []byte("It ought.")),
	}
	problems := append(s.exceeded(found), s.unused(found)...)
	got := make([]string, len(problems))
	for i, err := range problems {
		got[i] = err.Error()
	}
	want := []string{
		"  b has 2 rejected terms, at most 1; see hack/verify/words.yaml:\n    b/x.md:1 \"ought\": write must\n    b/x.md:2 \"ought\": write must",
		"  d has 1 rejected terms, at most 0; see hack/verify/words.yaml:\n    d/x.md:1 \"ought\": write must",
		"  c has no rejected term: remove its bound from hack/verify/words.yaml",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestFilesThatPeopleRead(t *testing.T) {
	s := style(t, "allowed: {vendored: it is of others}")
	for name, want := range map[string]bool{
		"docs/a.md": true, "a/b.go": true, "charts/x/templates/NOTES.txt": true, "a/testdata/b.md": false, "vendored/a.md": false, "a/b.json": false, File: false,
	} {
		if got := s.reads(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
