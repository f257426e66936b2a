// Command privileges writes the documentation of the vCenter privileges from the list in internal/vsphere/privileges. `make generate` runs
// it, so that `make verify` detects an outdated page.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "privileges:", err)
		os.Exit(1)
	}
}

func run() error {
	root, err := assets.Root()
	if err != nil {
		return err
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*", "*.md"))
	if err != nil {
		return err
	}
	found := map[string]bool{}
	for _, page := range pages {
		before, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		after, names, err := fill(before)
		if err != nil {
			return fmt.Errorf("%s: %w", page, err)
		}
		for _, name := range names {
			found[name] = true
		}
		if bytes.Equal(before, after) {
			continue
		}
		if err := os.WriteFile(page, after, 0o644); err != nil {
			return err
		}
	}
	for name := range parts {
		if !found[name] {
			return fmt.Errorf("no page has the part %q", name)
		}
	}
	return nil
}
