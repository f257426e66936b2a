package sim

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

// TestTheOperatorHasThePrivilegesThatItsDocumentationAsksFor: tests prove what users are told to grant.
func TestTheOperatorHasThePrivilegesThatItsDocumentationAsksFor(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/vcenter.md")
	if err != nil {
		t.Fatal(err)
	}
	documents(t, page, "Privileges", RequiredPrivileges)
	documents(t, page, "Privileges for networks", NetworkPrivileges)
	documents(t, page, "Privileges for templates from an OVA", []string{vApp})
	documents(t, page, "Privileges for encrypted templates", []string{crypto})
	documents(t, page, "Privileges for notes", []string{notes})
	documents(t, page, "Privileges for DRS", []string{powerOn})
	documents(t, page, "Privileges for adoption", AdoptionPrivileges)
}

// documents checks that a paragraph of a page names these privileges and no others.
func documents(t *testing.T, page []byte, paragraph string, privileges []string) {
	t.Helper()
	section := regexp.MustCompile(`(?s)\*\*` + paragraph + `\*\*.*?\n\n`).Find(page)
	found := regexp.MustCompile("`([A-Z][A-Za-z]+\\.[A-Za-z.]+)`").FindAllSubmatch(section, -1)
	documented := make([]string, 0, len(found))
	for _, m := range found {
		documented = append(documented, string(m[1]))
	}
	slices.Sort(documented)
	want := slices.Sorted(slices.Values(privileges))
	if !slices.Equal(documented, want) {
		t.Errorf("docs/vcenter.md asks under %q for\n%v\nand the simulator grants\n%v", paragraph, documented, want)
	}
}
