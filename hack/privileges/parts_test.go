package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere/privileges"
)

const docs = "../../docs"

func TestThePagesHaveTheListOfPrivileges(t *testing.T) {
	t.Parallel()
	found := map[string]int{}
	for page, text := range pages(t) {
		filled, names, err := fill([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", page, err)
		}
		if string(filled) != text {
			t.Errorf("%s is not up to date: run `make generate`", page)
		}
		for _, name := range names {
			found[name]++
		}
	}
	for name := range parts {
		if found[name] == 0 {
			t.Errorf("no page has the part %q", name)
		}
	}
}

// TestEveryPrivilegeThatAPageNamesIsInTheList finds IDs in hand-written text: users cannot grant a misspelled one.
func TestEveryPrivilegeThatAPageNamesIsInTheList(t *testing.T) {
	t.Parallel()
	known, groups := map[string]bool{}, map[string]bool{}
	for _, p := range privileges.All() {
		known[p.ID] = true
		group, _, _ := strings.Cut(p.ID, ".")
		groups[group] = true
	}
	id, count := regexp.MustCompile(`\b([A-Z][A-Za-z]+)(\.[A-Z][A-Za-z]+)+\b`), 0
	for page, text := range pages(t) {
		if strings.HasPrefix(filepath.Base(page), "simulator") { // they also name privileges of others
			continue
		}
		for _, match := range id.FindAllStringSubmatch(text, -1) {
			if !groups[match[1]] {
				continue
			}
			if count++; !known[match[0]] {
				t.Errorf("%s names %s, which is not in the list", page, match[0])
			}
		}
	}
	if count < 40 {
		t.Errorf("only %d names were found", count)
	}
}

func TestCommandsHaveNoLongLines(t *testing.T) {
	t.Parallel()
	got := command("govc role.create A", []string{strings.Repeat("b", 80), strings.Repeat("c", 80), "d"})
	want := "govc role.create A " + strings.Repeat("b", 80) + " \\\n  " + strings.Repeat("c", 80) + " d\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestAnUnknownPartIsAnError(t *testing.T) {
	t.Parallel()
	if _, _, err := fill([]byte("<!-- privileges: tabel -->\n<!-- end of privileges -->\n")); err == nil {
		t.Error("a part with a wrong name is left as it is")
	}
}

func pages(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(docs, "*", "*.md"))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d pages: %v", len(files), err)
	}
	all := map[string]string{}
	for _, file := range files {
		if filepath.Base(filepath.Dir(file)) == "adr" { // they name types and calls that resemble privileges
			continue
		}
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[file] = string(content)
	}
	return all
}
