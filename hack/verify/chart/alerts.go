package chart

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// metric matches the operator's own metrics in an alert.
var metric = regexp.MustCompile(`\bvmgroup_[a-z_]+`)

// Alerts looks whether the metrics that the alerts read exist: an alert on a metric that was renamed never fires.
func Alerts(_ context.Context, root string, _ []string) error {
	alerts, err := os.ReadFile(filepath.Join(root, folder, "files", "alerts.yaml"))
	if err != nil {
		return err
	}
	packages, err := words(filepath.Join(root, "internal"))
	if err != nil {
		return err
	}
	names := metric.FindAllString(string(alerts), -1)
	slices.Sort(names)
	if len(names) == 0 {
		return errors.New("  the alerts read no metric of the operator")
	}
	var problems []error
	for _, name := range slices.Compact(names) {
		if !measured(strings.TrimSuffix(name, "_bucket"), packages) {
			problems = append(problems, fmt.Errorf("  no package below internal/ has a metric %s", name))
		}
	}
	return errors.Join(problems...)
}

// literal matches a string of a Go file that could be a metric's name, or a part of one.
var literal = regexp.MustCompile(`"([a-z_]+)"`)

// words lists the strings of each package below dir, without tests.
func words(dir string) (map[string][]string, error) {
	packages, files := map[string][]string{}, os.DirFS(dir)
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		for _, match := range literal.FindAllSubmatch(content, -1) {
			packages[path.Dir(name)] = append(packages[path.Dir(name)], string(match[1]))
		}
		return nil
	})
	return packages, err
}

// measured reports whether a package has the name as a string, or as a prefix and a rest.
func measured(name string, packages map[string][]string) bool {
	for _, strs := range packages {
		if slices.Contains(strs, name) {
			return true
		}
		for _, prefix := range strs {
			rest, found := strings.CutPrefix(name, prefix)
			// A prefix of metrics is longer than their common first word.
			if found && strings.HasPrefix(prefix, "vmgroup_operator_") && (slices.Contains(strs, rest) || slices.Contains(strs, strings.TrimPrefix(rest, "_"))) {
				return true
			}
		}
	}
	return false
}
