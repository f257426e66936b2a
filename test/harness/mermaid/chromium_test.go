package mermaid

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestAMissingBrowserIsReportedWithARemedy(t *testing.T) {
	if _, err := os.Stat(browsers[len(browsers)-1]); runtime.GOOS == "darwin" && err == nil {
		return // found without PATH
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if path, err := Chromium(t.Context(), os.Stderr); err == nil || !strings.Contains(err.Error(), "chromium") {
		t.Errorf("without a browser: %q, %v", path, err)
	}
	want := filepath.Join(dir, "google-chrome")
	if err := os.WriteFile(want, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	if path, err := Chromium(t.Context(), os.Stderr); err != nil || path != want {
		t.Errorf("got %q, %v, want %s", path, err, want)
	}
}
