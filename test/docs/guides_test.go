package docs

import (
	"encoding/json"
	"io/fs"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// guides are the pages that a vCenter user reads first, in one sitting.
var guides = []string{"tutorial/first-hour.md", "how-to/linux-template.md", "how-to/vcenter-account.md", "how-to/windows-template.md"}

const (
	mostWords = 1200
	// mostOfAPage is for all pages but references, which users search and do not read.
	mostOfAPage = 1500
)

// word matches a word, but not the bar of a table.
var word = regexp.MustCompile(`\S*[\p{L}\p{N}]\S*`)

func TestAGuideIsReadInOneSitting(t *testing.T) {
	for _, guide := range guides {
		if words := len(word.FindAllString(read(t, filepath.Join(root, "docs", guide)), -1)); words > mostWords {
			t.Errorf("docs/%s has %d words, want at most %d", guide, words, mostWords)
		}
	}
}

func TestAPageThatIsNoReferenceIsShort(t *testing.T) {
	reference := regexp.MustCompile(`^(adr|reference)/|^contributing/simulator-rules\.md$`)
	checked, docs := 0, filepath.Join(root, "docs")
	for _, page := range filesIn(t, docs, ".md") {
		name, err := filepath.Rel(docs, page)
		if err != nil {
			t.Fatal(err)
		}
		if name = filepath.ToSlash(name); reference.MatchString(name) {
			continue
		}
		checked++
		if words := len(word.FindAllString(read(t, page), -1)); words > mostOfAPage {
			t.Errorf("docs/%s has %d words, want at most %d: split it", name, words, mostOfAPage)
		}
	}
	if checked < 50 {
		t.Errorf("only %d pages were checked", checked)
	}
}

// TestTheExamplesOfGuidesHaveFieldsThatExist checks the VmGroups and VCenters that readers copy: the API server
// would drop or reject an unknown field.
func TestTheExamplesOfGuidesHaveFieldsThatExist(t *testing.T) {
	kinds, count := schemas(), 0
	for where, text := range examples(t) {
		if !slices.ContainsFunc(guides, func(guide string) bool { return strings.Contains(where, "/"+guide+",") }) {
			continue
		}
		var object map[string]any
		if err := yaml.UnmarshalStrict([]byte(text), &object); err != nil {
			t.Errorf("%s: %v", where, err)
			continue
		}
		kind, _ := object["kind"].(string)
		schema := kinds[kind]
		if schema == nil {
			continue
		}
		count++
		for _, problem := range unfit(object["spec"], field(schema, "spec"), "spec") {
			t.Errorf("%s: %s", where, problem)
		}
	}
	if count < 3 {
		t.Errorf("only %d examples were found", count)
	}
}

// unfit returns the parts of a value that the schema does not know: fields, and values outside an enum.
func unfit(value any, schema *apiextensionsv1.JSONSchemaProps, path string) []string {
	var problems []string
	switch v := value.(type) {
	case map[string]any:
		for name, below := range v {
			next := field(schema, name)
			if next == nil {
				problems = append(problems, path+" has no field "+name)
				continue
			}
			problems = append(problems, unfit(below, next, path+"."+name)...)
		}
	case []any:
		if schema.Items == nil {
			return []string{path + " is no list"}
		}
		for _, below := range v {
			problems = append(problems, unfit(below, schema.Items.Schema, path+"[]")...)
		}
	case string:
		if len(schema.Enum) > 0 && !slices.ContainsFunc(schema.Enum, func(one apiextensionsv1.JSON) bool {
			var text string
			return json.Unmarshal(one.Raw, &text) == nil && text == v
		}) {
			problems = append(problems, path+" cannot be "+v)
		}
	}
	return problems
}

func TestWhatFitsNoSchema(t *testing.T) {
	spec := field(schemas()["VmGroup"], "spec")
	for text, want := range map[string]string{
		"{cpu: 1}":                   "",
		"{cpus: 1}":                  "spec has no field cpus",
		"{guest: {hostname: Other}}": "spec.guest.hostname cannot be Other",
		"{guest: {host: Name}}":      "spec.guest has no field host",
	} {
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(unfit(value, spec, "spec"), ", "); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// TestEveryCommandOfGovcExists compares with the commands that govc registers in the version of govmomi in go.mod:
// pages cannot be run here.
func TestEveryCommandOfGovcExists(t *testing.T) {
	// Only commands in code count, not prose about govc.
	code, command := regexp.MustCompile("(?s)```.*?```|`[^`\n]+`"), regexp.MustCompile(`\bgovc ([a-z][a-z.]*)`)
	known, count := registeredByGovc(t), 0
	for _, page := range pages(t) {
		for _, block := range code.FindAllString(read(t, page), -1) {
			for _, match := range command.FindAllStringSubmatch(block, -1) {
				if count++; !known[match[1]] {
					t.Errorf("%s: govc has no command %s", page, match[1])
				}
			}
		}
	}
	if count < 20 {
		t.Errorf("only %d commands were found", count)
	}
}

func registeredByGovc(t *testing.T) map[string]bool {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/vmware/govmomi").Output()
	if err != nil {
		t.Fatalf("find govmomi: %v", err)
	}
	names, registered := map[string]bool{}, regexp.MustCompile(`cli\.Register\("([^"]+)"`)
	err = filepath.WalkDir(filepath.Join(strings.TrimSpace(string(out)), "cli"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !isSource(entry) {
			return err
		}
		for _, match := range registered.FindAllStringSubmatch(read(t, path), -1) {
			names[match[1]] = true
		}
		return nil
	})
	if err != nil || len(names) < 100 {
		t.Fatalf("govc has %d commands: %v", len(names), err)
	}
	return names
}
