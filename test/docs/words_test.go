package docs

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// TestVMsThatStayAreRetainedOrKept distinguishes two terms that pages once mixed up. A VM that deletionPolicy Retain
// leaves behind is retained, and has lost its stamp. One that annotation release leaves behind is kept, and still has
// it. Neither is "released".
func TestVMsThatStayAreRetainedOrKept(t *testing.T) {
	mixed := regexp.MustCompile(`[Rr]elease mark|\bVMs? (?:that |were |was |are |is )*released\b|released VM|ReleasedVMs|vmgroup\.released|\breleases (?:its|the|their) VMs`)
	retained := 0
	for _, page := range pages(t) {
		if strings.Contains(page, "/adr/") {
			continue
		}
		text := read(t, page)
		for _, found := range mixed.FindAllString(text, -1) {
			t.Errorf("%s: %q", page, found)
		}
		retained += strings.Count(text, vsphere.ReleaseKey)
	}
	if retained < 4 {
		t.Errorf("pages name the key %s of the mark %d times only", vsphere.ReleaseKey, retained)
	}
	if !strings.Contains(read(t, filepath.Join(root, "docs", "explanation", "deletion.md")), "retention mark") {
		t.Error("docs/explanation/deletion.md does not name the mark")
	}
}
