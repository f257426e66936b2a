package chart

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// untested reports values that no unit test sets or the README does not explain.
func untested(chart string) error {
	content, err := os.ReadFile(filepath.Join(chart, "values.yaml"))
	if err != nil {
		return err
	}
	var defaults map[string]any
	if err := yaml.Unmarshal(content, &defaults); err != nil {
		return fmt.Errorf("values.yaml: %w", err)
	}
	tested, err := setByTests(chart)
	if err != nil {
		return err
	}
	explained, err := explainedBy(chart)
	if err != nil {
		return err
	}
	var problems []error
	for _, leaf := range leaves("", defaults) {
		if !slices.Contains(tested, leaf) {
			problems = append(problems, fmt.Errorf("  no unit test sets %s: what does it do?", leaf))
		}
		if !slices.ContainsFunc(upwards(leaf), func(path string) bool { return slices.Contains(explained, path) }) {
			problems = append(problems, fmt.Errorf("  values.yaml does not explain %s: begin a comment with `# -- `", leaf))
		}
	}
	return errors.Join(problems...)
}

// row matches a value with an explanation in the README's table.
var row = regexp.MustCompile(`(?m)^\| (\S+) \| .*\| [^|]*[^|\s][^|]* \|$`)

// explainedBy lists the values that the README's table explains. helm-docs has a mode that requires explanations, but not for files like
// ours.
func explainedBy(chart string) ([]string, error) {
	content, err := os.ReadFile(filepath.Join(chart, "README.md"))
	if err != nil {
		return nil, err
	}
	var explained []string
	for _, match := range row.FindAllSubmatch(content, -1) {
		explained = append(explained, string(match[1]))
	}
	return explained, nil
}

// upwards returns a path and its parents.
func upwards(path string) []string {
	paths := []string{path}
	for i := strings.LastIndexByte(path, '.'); i >= 0; i = strings.LastIndexByte(path, '.') {
		path = path[:i]
		paths = append(paths, path)
	}
	return paths
}

// setByTests lists the values that the tests set, with their parents and children.
func setByTests(chart string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(chart, "tests", "*_test.yaml"))
	if err != nil {
		return nil, err
	}
	var set []string
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var suite struct {
			Set   map[string]any `json:"set"`
			Tests []struct {
				It  string         `json:"it"`
				Set map[string]any `json:"set"`
				// A test that only expects a refusal shows no effect.
				Asserts []map[string]any `json:"asserts"`
			} `json:"tests"`
		}
		if err := yaml.Unmarshal(content, &suite); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		set = append(set, leaves("", suite.Set)...)
		for _, test := range suite.Tests {
			refused := slices.ContainsFunc(test.Asserts, func(assert map[string]any) bool { return assert["failedTemplate"] != nil })
			if !refused {
				set = append(set, leaves("", test.Set)...)
			}
		}
	}
	// A test can set the whole of a default leaf, for example an empty map.
	for _, path := range slices.Clone(set) {
		set = append(set, upwards(path)...)
	}
	slices.Sort(set)
	return slices.Compact(set), nil
}

// labels reports whether the user chooses the keys of a map, as in a selector. Such keys are no values of the chart.
func labels(values map[string]any) bool {
	for key := range values {
		if strings.Contains(key, "/") {
			return true
		}
	}
	return false
}

// list matches list indexes in a path. No value of the chart contains one.
var list = regexp.MustCompile(`\[[0-9]+\]`)

// leaves lists the paths without a nested map, including empty maps. Keys can be paths, as in the unit tests.
func leaves(prefix string, values map[string]any) []string {
	var paths []string
	for key, value := range values {
		path := list.ReplaceAllString(prefix+key, "")
		if below, ok := value.(map[string]any); ok && len(below) > 0 && !labels(below) {
			paths = append(paths, leaves(path+".", below)...)
			continue
		}
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}
