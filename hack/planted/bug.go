//go:build unix

package main

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
)

// patches are bugs that this kind of operator has had, here or elsewhere. <name>.patch describes the bug and contains the change.
//
//go:embed bugs/*.patch
var patches embed.FS

// bugs returns the names of all bugs, in the order of their tests.
func bugs() ([]string, error) {
	files, err := patches.ReadDir("bugs")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, file := range files {
		names = append(names, strings.TrimSuffix(file.Name(), ".patch"))
	}
	return slices.Sorted(slices.Values(names)), nil
}

// plant applies a bug to copies of the changed files below dir. It returns the overlay file that makes the go command use the copies
// (-overlay). The working tree does not change.
func plant(ctx context.Context, bug, dir string) (overlay string, err error) {
	root, err := assets.Root()
	if err != nil {
		return "", err
	}
	patch, err := patches.ReadFile("bugs/" + bug + ".patch")
	if err != nil {
		return "", fmt.Errorf("there is no bug %q: %w", bug, err)
	}
	replaced := map[string]string{}
	for line := range strings.Lines(string(patch)) {
		file, ok := strings.CutPrefix(strings.TrimSpace(line), "+++ b/")
		if !ok {
			continue
		}
		content, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return "", fmt.Errorf("bug %s: %w", bug, err)
		}
		planted := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(planted), 0o700); err != nil {
			return "", err
		}
		if err := os.WriteFile(planted, content, 0o600); err != nil {
			return "", err
		}
		replaced[filepath.Join(root, file)] = planted
	}
	apply := exec.CommandContext(ctx, "git", "apply")
	apply.Dir, apply.Stdin = dir, strings.NewReader(string(patch))
	// If dir is below a repository, such as that of a home directory, git would search the repository for the files.
	apply.Env = append(os.Environ(), "GIT_DIR="+filepath.Join(dir, "none"))
	if said, err := apply.CombinedOutput(); err != nil {
		return "", fmt.Errorf("bug %s does not fit the code any more; write hack/planted/bugs/%s.patch anew: %w: %s", bug, bug, err, said)
	}
	content, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, content, 0o600)
}
