package operator

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/google/licensecheck"
)

// licenseFile matches the names of license files.
var licenseFile = regexp.MustCompile(`(?i)^(LICEN[CS]E|COPYING|UNLICENSE)([-._].*)?$`)

// licensesOf returns the sorted SPDX identifiers of the licenses in the files of a module's directory.
func licensesOf(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("look for licenses: %w", err)
	}
	var found []string
	for _, entry := range entries {
		if !entry.Type().IsRegular() || !licenseFile.MatchString(entry.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("read a license: %w", err)
		}
		for _, match := range licensecheck.Scan(text).Match {
			// The URL of a license is less exact than its text, which is always present too.
			if !match.IsURL {
				found = append(found, match.ID)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}
