package mermaid

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/codeconnect/vmgroup-operator/test/harness/debian"
)

// browsers are the names of Chromium and of Chrome. Ubuntu has no package of Chromium, and its machines in CI have Chrome.
var browsers = []string{"chromium", "google-chrome", "google-chrome-stable", "chromium-browser", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"}

// Chromium returns the path of the browser. If it is missing, Chromium installs Debian's package. out receives the output of apt-get. If it is
// nil, standard error does.
func Chromium(ctx context.Context, out io.Writer) (string, error) {
	if path, found := browser(); found {
		return path, nil
	}
	if out == nil {
		out = os.Stderr
	}
	if err := debian.Install(ctx, out, "chromium"); err != nil {
		return "", fmt.Errorf("the drawings cannot be rendered without Chromium or Chrome: %w", err)
	}
	path, found := browser()
	if !found {
		return "", fmt.Errorf("package chromium is installed, and none of %q is in PATH", browsers)
	}
	return path, nil
}

func browser() (string, bool) {
	for _, name := range browsers {
		if path, err := exec.LookPath(name); err == nil {
			return path, true
		}
	}
	return "", false
}
