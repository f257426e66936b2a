package debian

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPackagesAreInstalledAfterAnUpdateOfOldLists(t *testing.T) {
	if os.Geteuid() != 0 {
		if err := Install(t.Context(), os.Stderr, "one"); err == nil || !strings.Contains(err.Error(), "sudo apt-get install") {
			t.Errorf("without root: %v", err)
		}
		return
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if err := Install(t.Context(), os.Stderr, "one"); err == nil || !strings.Contains(err.Error(), "one") {
		t.Errorf("without apt-get: %v", err)
	}
	// This apt-get knows a package after an update, and no package without one.
	script := "#!/bin/sh\nwhile [ \"$1\" = -o ]; do shift 2; done\necho \"$@\"\n[ \"$1\" = update ] && : >" + dir + "/updated\n[ -e " + dir + "/updated ]\n"
	if err := os.WriteFile(filepath.Join(dir, "apt-get"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := Install(t.Context(), &out, "one", "two"); err != nil {
		t.Fatal(err)
	}
	const install = "install -y --no-install-recommends one two\n"
	if want := install + "update\n" + install; out.String() != want {
		t.Errorf("apt-get got:\n%swant:\n%s", &out, want)
	}
}
