// Package versions checks that the places that name the version of a release name the same one: the chart, its image, the changelog and the
// pages. `make verify` runs it on each commit, and `make release` before it builds.
package versions

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Semantic matches a version that can be the tag of an image. Such a tag has no build metadata, because it has no plus sign.
var Semantic = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

// chartFile is Chart.yaml, relative to the root of the repository.
const chartFile = "charts/vmgroup-operator/Chart.yaml"

// chart has the fields of Chart.yaml that name a version.
type chart struct {
	Version     string            `json:"version"`
	AppVersion  string            `json:"appVersion"`
	Annotations map[string]string `json:"annotations"`
}

// Chart returns the version of the chart, which is that of the next or current release.
func Chart(root string) (string, error) {
	of, err := read(root)
	return of.Version, err
}

func read(root string) (of chart, err error) {
	content, err := os.ReadFile(filepath.Join(root, chartFile))
	if err != nil {
		return of, err
	}
	if err := yaml.Unmarshal(content, &of); err != nil {
		return of, fmt.Errorf("%s: %w", chartFile, err)
	}
	return of, nil
}

// Check compares all places with the version of the chart. Its error has one line for each difference. `make verify` passes the third argument.
func Check(_ context.Context, root string, _ []string) error {
	of, err := read(root)
	if err != nil {
		return err
	}
	problems := of.problems()
	pages, err := pagesOf(root)
	if err != nil {
		return err
	}
	for _, page := range pages {
		content, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			return err
		}
		problems = append(problems, others(page, string(content), of.Version)...)
	}
	return errors.Join(problems...)
}

// problems compares the fields of Chart.yaml.
func (c chart) problems() (problems []error) {
	if !Semantic.MatchString(c.Version) {
		problems = append(problems, fmt.Errorf("  %s: version %q is not of the form 1.2.3", chartFile, c.Version))
	}
	if c.AppVersion != c.Version {
		problems = append(problems, fmt.Errorf("  %s: appVersion is %s and version is %s: set both to one version", chartFile, c.AppVersion, c.Version))
	}
	var images []struct{ Name, Image string }
	err := yaml.Unmarshal([]byte(c.Annotations["artifacthub.io/images"]), &images)
	if want := "vmgroup-operator:" + c.Version; err != nil || len(images) != 1 || images[0].Image != want {
		problems = append(problems, fmt.Errorf("  %s: annotation artifacthub.io/images must have one image, %s", chartFile, want))
	}
	return problems
}

// named matches a version of the operator in a page: the tag of its image, the name of a file of a release with a part of its extension, or an argument
// of a command.
var named = regexp.MustCompile(`(?:VERSION=|--version[ =]|release/v|releases/download/v|vmgroup-operator[-:_]v?|kubectl-vmgroup_|manager_|appVersion, |(?:cd |oci:|directory \x60)v)(\d+\.\d+\.\d+(?:-[0-9A-Za-z]+(?:\.[0-9A-Za-z]+)*)?)`)

// others returns the lines of a page that name another version.
func others(page, content, version string) (problems []error) {
	number := 0
	for line := range strings.Lines(content) {
		number++
		for _, match := range named.FindAllStringSubmatch(line, -1) {
			if match[1] != version && !strings.HasPrefix(match[1], version+".") {
				problems = append(problems, fmt.Errorf("  %s:%d names version %s, and the chart has %s", page, number, match[1], version))
			}
		}
	}
	return problems
}

// pagesOf lists the pages for users. Pages for contributors and decisions have examples of any version.
func pagesOf(root string) ([]string, error) {
	pages := []string{"README.md", "config/manager/kustomization.yaml"}
	apart := []string{"docs/adr", "docs/contributing"}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if entry.IsDir() && slices.Contains(apart, name) {
			return filepath.SkipDir
		}
		if !entry.IsDir() && strings.HasSuffix(name, ".md") {
			pages = append(pages, name)
		}
		return nil
	})
	return pages, err
}
