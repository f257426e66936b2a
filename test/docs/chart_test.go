package docs

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const chart = root + "/charts/vmgroup-operator"

// aboutTheChart are the pages that name values of the chart.
var aboutTheChart = []string{
	"README.md", "docs/how-to/install.md", "docs/how-to/upgrade.md", "docs/how-to/uninstall.md", "docs/how-to/production.md", "docs/how-to/expose-webhooks.md",
	"docs/how-to/air-gapped.md", "docs/how-to/argocd.md", "docs/how-to/migrate.md", "docs/tutorial/first-hour.md",
}

func values(t *testing.T) map[string]any {
	t.Helper()
	var all map[string]any
	if err := yaml.Unmarshal([]byte(read(t, filepath.Join(chart, "values.yaml"))), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// unknown returns the keys that the chart does not have. Pass-through values, such as affinity, are empty in
// values.yaml.
func unknown(given, known map[string]any, path string) []string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(given)) {
		value, there := known[key]
		if !there {
			all = append(all, path+key)
			continue
		}
		below, isMap := given[key].(map[string]any)
		if next, ok := value.(map[string]any); ok && isMap && len(next) > 0 {
			all = append(all, unknown(below, next, path+key+".")...)
		}
	}
	return all
}

// TestEveryValueThatPagesNameExists checks `a.b.c` in text and commands.
func TestEveryValueThatPagesNameExists(t *testing.T) {
	known := values(t)
	names := slices.Sorted(maps.Keys(known))
	value := regexp.MustCompile("(?:`|--set |-p )((?:" + strings.Join(names, "|") + `)(?:\.[a-zA-Z]+)+)(?:` + "`|=|: )")
	count := 0
	for _, page := range aboutTheChart {
		for _, found := range value.FindAllStringSubmatch(read(t, filepath.Join(root, page)), -1) {
			count++
			path := strings.Split(found[1], ".")
			var given any = map[string]any{}
			for _, key := range slices.Backward(path) {
				given = map[string]any{key: given}
			}
			if wrong := unknown(given.(map[string]any), known, ""); len(wrong) > 0 && !ofAnotherKind[found[1]] {
				t.Errorf("%s: the chart has no value %s", page, wrong[0])
			}
		}
	}
	if count < 20 {
		t.Errorf("only %d values were found: does the test still know how pages write them?", count)
	}
}

// ofAnotherKind are fields of a MemberCluster that begin like a value.
var ofAnotherKind = map[string]bool{"admission.failurePolicy": true}

// TestEveryExampleOfValuesIsKnown checks YAML blocks of values, and those in an Argo CD Application.
func TestEveryExampleOfValuesIsKnown(t *testing.T) {
	known := values(t)
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```")
	count := 0
	for _, page := range aboutTheChart {
		for _, found := range block.FindAllStringSubmatch(read(t, filepath.Join(root, page)), -1) {
			var given map[string]any
			if err := yaml.UnmarshalStrict([]byte(found[1]), &given); err != nil {
				t.Errorf("%s: %v in\n%s", page, err, found[1])
				continue
			}
			if given["kind"] == "Application" {
				given = below(given, "spec", "source", "helm", "valuesObject")
			}
			if given["kind"] != nil {
				continue
			}
			count++
			for _, key := range unknown(given, known, "") {
				t.Errorf("%s: the chart has no value %s", page, key)
			}
		}
	}
	if count < 5 {
		t.Errorf("only %d examples were found", count)
	}
}

func below(object map[string]any, path ...string) map[string]any {
	for _, key := range path {
		object, _ = object[key].(map[string]any)
	}
	return object
}

func TestEveryAlertIsExplained(t *testing.T) {
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert string `json:"alert"`
			} `json:"rules"`
		} `json:"groups"`
	}
	if err := yaml.Unmarshal([]byte(read(t, filepath.Join(chart, "files", "alerts.yaml"))), &file); err != nil {
		t.Fatal(err)
	}
	page := read(t, filepath.Join(root, "docs", "runbooks", "README.md"))
	said := map[string]bool{}
	for _, name := range regexp.MustCompile("`(VmGroup[A-Z][A-Za-z]+)`").FindAllStringSubmatch(page, -1) {
		said[name[1]] = true
	}
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			if rule.Alert != "" && !said[rule.Alert] {
				t.Errorf("docs/runbooks/README.md does not explain alert %s", rule.Alert)
			}
			delete(said, rule.Alert)
		}
	}
	for name := range said {
		t.Errorf("docs/runbooks/README.md names %s, which is no alert of the chart", name)
	}
}
