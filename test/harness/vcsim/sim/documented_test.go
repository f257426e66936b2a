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
	section := regexp.MustCompile(`(?s)\*\*Privileges\*\*.*?\n\n`).Find(page)
	found := regexp.MustCompile("`([A-Z][A-Za-z]+\\.[A-Za-z.]+)`").FindAllSubmatch(section, -1)
	documented := make([]string, 0, len(found))
	for _, m := range found {
		documented = append(documented, string(m[1]))
	}
	slices.Sort(documented)
	want := slices.Sorted(slices.Values(OperatorPrivileges))
	if !slices.Equal(documented, want) {
		t.Errorf("docs/vcenter.md asks for\n%v\nand the simulator grants\n%v", documented, want)
	}
}
