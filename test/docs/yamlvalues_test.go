package docs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	nodes "go.yaml.in/yaml/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/codeconnect/vmgroup-operator/config/crd"
)

// notYAML is the prefix of becomes' result for text that requires quotes, such as a pattern that begins with a star.
const notYAML = "an error: "

// becomes returns, as JSON, how kubectl and Helm read unquoted text: Off is false, 0644 is 420, ~ is null.
func becomes(text string) string {
	out, err := yaml.YAMLToJSON([]byte("value: " + text))
	if err != nil {
		return notYAML + err.Error()
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(string(out)), `{"value":`), "}")
}

// staysText reports whether text is a string even without quotes.
func staysText(text string) bool {
	quoted, err := json.Marshal(text)
	return err == nil && becomes(text) == string(quoted)
}

// fit returns the problem of a scalar in an example, written as text at a field with the schema, or "". Without a
// schema, the object is of another kind.
func fit(text string, quoted bool, schema *apiextensionsv1.JSONSchemaProps) string {
	isText := schema != nil && schema.Type == "string" && !schema.XIntOrString
	switch is := becomes(text); {
	case strings.HasPrefix(is, notYAML): // it needs quotes, and YAML reports that
		return ""
	case isText && !staysText(text):
		return fmt.Sprintf("%s becomes %s without quotes, and the field is a string", text, is)
	case !quoted && !strings.HasPrefix(is, `"`) && !strings.HasPrefix(is, "{") && !strings.HasPrefix(is, "[") && is != text:
		return fmt.Sprintf("%s becomes %s", text, is)
	}
	return ""
}

// schemas are those of our kinds.
func schemas() map[string]*apiextensionsv1.JSONSchemaProps {
	all := map[string]*apiextensionsv1.JSONSchemaProps{}
	for _, definition := range crd.Hub() {
		all[definition.Spec.Names.Kind] = definition.Spec.Versions[0].Schema.OpenAPIV3Schema
	}
	return all
}

// field returns the schema of a field, or nil.
func field(schema *apiextensionsv1.JSONSchemaProps, name string) *apiextensionsv1.JSONSchemaProps {
	if schema == nil {
		return nil
	}
	if property, ok := schema.Properties[name]; ok {
		return &property
	}
	if schema.AdditionalProperties != nil {
		return schema.AdditionalProperties.Schema
	}
	return nil
}

// scalars calls see with each scalar of a document, and the schema of its field.
func scalars(node *nodes.Node, schema *apiextensionsv1.JSONSchemaProps, path string, see func(node *nodes.Node, schema *apiextensionsv1.JSONSchemaProps, path string)) {
	switch node.Kind {
	case nodes.DocumentNode:
		for _, below := range node.Content {
			scalars(below, schema, path, see)
		}
	case nodes.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			name := node.Content[i].Value
			scalars(node.Content[i+1], field(schema, name), path+"."+name, see)
		}
	case nodes.SequenceNode:
		var items *apiextensionsv1.JSONSchemaProps
		if schema != nil && schema.Items != nil {
			items = schema.Items.Schema
		}
		for _, below := range node.Content {
			scalars(below, items, path+"[]", see)
		}
	case nodes.ScalarNode:
		see(node, schema, path)
	}
}

// kindOf is the kind of a document, or "".
func kindOf(document *nodes.Node) string {
	var head struct {
		Kind string `yaml:"kind"`
	}
	_ = document.Decode(&head) // a list, for example, has none
	return head.Kind
}

var (
	fence   = regexp.MustCompile("(?ms)^( *)```ya?ml\n(.*?)^ *```")
	heredoc = regexp.MustCompile(`(?ms)<<-?'?([A-Z]+)'?\n(.*?\n)[ \t]*([A-Z]+)$`)
	// inline is a field with a value in a sentence: `shutdown.mode: Hard`.
	inline = regexp.MustCompile("`((?:[a-z][A-Za-z]*\\.)*[a-z][A-Za-z]*): ([^`\\s{\\[][^`]*)`")
)

// examples are all YAML texts that users copy, by location.
func examples(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	files := filesIn(t, filepath.Join(root, "docs"), ".yaml")
	for _, pattern := range []string{"config/samples/*.yaml", "charts/*/values.yaml", "charts/*/ci/*.yaml"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d files: %v", pattern, len(found), err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		all[file] = read(t, file)
	}
	for _, page := range pages(t) {
		text := read(t, page)
		for i, block := range fence.FindAllStringSubmatch(text, -1) {
			all[fmt.Sprintf("%s, block %d", page, i+1)] = strings.ReplaceAll("\n"+block[2], "\n"+block[1], "\n")
		}
		for i, block := range heredoc.FindAllStringSubmatch(text, -1) {
			all[fmt.Sprintf("%s, heredoc %d", page, i+1)] = block[2]
		}
	}
	return all
}

func TestEveryEnumIsTextWithoutQuotes(t *testing.T) {
	count := 0
	var walk func(schema *apiextensionsv1.JSONSchemaProps, path string)
	walk = func(schema *apiextensionsv1.JSONSchemaProps, path string) {
		for _, raw := range append(slices.Clone(schema.Enum), defaultOf(schema)...) {
			var value string
			if err := json.Unmarshal(raw.Raw, &value); err != nil || value == "" {
				continue
			}
			if count++; !staysText(value) {
				t.Errorf("%s: %s becomes %s without quotes", path, value, becomes(value))
			}
		}
		for name := range schema.Properties {
			if name != "conditions" { // a type of Kubernetes that only the operator writes
				walk(field(schema, name), path+"."+name)
			}
		}
		if schema.Items != nil && schema.Items.Schema != nil {
			walk(schema.Items.Schema, path+"[]")
		}
		if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
			walk(schema.AdditionalProperties.Schema, path+"{}")
		}
	}
	for kind, schema := range schemas() {
		walk(schema, kind)
	}
	if count < 50 {
		t.Errorf("only %d values were found", count)
	}
	for _, list := range regexp.MustCompile(`"enum":\s*\[([^\]]*)\]`).FindAllStringSubmatch(read(t, filepath.Join(chart, "values.schema.json")), -1) {
		var values []any
		if err := json.Unmarshal([]byte("["+list[1]+"]"), &values); err != nil {
			t.Fatal(err)
		}
		for _, value := range values {
			if text, ok := value.(string); ok && text != "" && !staysText(text) {
				t.Errorf("a value of the chart: %s becomes %s without quotes", text, becomes(text))
			}
		}
	}
}

func defaultOf(schema *apiextensionsv1.JSONSchemaProps) []apiextensionsv1.JSON {
	if schema.Default == nil {
		return nil
	}
	return []apiextensionsv1.JSON{*schema.Default}
}

func TestEveryValueOfAnExampleKeepsItsTypeWithoutQuotes(t *testing.T) {
	kinds, count := schemas(), 0
	for where, text := range examples(t) {
		for decoder := nodes.NewDecoder(strings.NewReader(text)); ; {
			var document nodes.Node
			err := decoder.Decode(&document)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Errorf("%s: %v", where, err)
				break
			}
			scalars(&document, kinds[kindOf(&document)], "", func(node *nodes.Node, schema *apiextensionsv1.JSONSchemaProps, path string) {
				if node.Style&(nodes.LiteralStyle|nodes.FoldedStyle) != 0 {
					return
				}
				count++
				if problem := fit(node.Value, node.Style&(nodes.SingleQuotedStyle|nodes.DoubleQuotedStyle) != 0, schema); problem != "" {
					t.Errorf("%s: %s: %s", where, strings.TrimPrefix(path, "."), problem)
				}
			})
		}
	}
	if count < 500 {
		t.Errorf("only %d values were found", count)
	}
}

// TestEveryValueInASentenceKeepsItsType finds the field by the end of its path: pages omit spec, and name fields of any
// kind.
func TestEveryValueInASentenceKeepsItsType(t *testing.T) {
	byPath := map[string]*apiextensionsv1.JSONSchemaProps{}
	var walk func(schema *apiextensionsv1.JSONSchemaProps, path string)
	walk = func(schema *apiextensionsv1.JSONSchemaProps, path string) {
		if schema.Items != nil && schema.Items.Schema != nil {
			schema = schema.Items.Schema
		}
		for name := range schema.Properties {
			below := field(schema, name)
			byPath[strings.TrimPrefix(path+"."+name, ".")] = below
			walk(below, path+"."+name)
		}
	}
	for _, schema := range schemas() {
		walk(schema, "")
	}
	count := 0
	for _, page := range pages(t) {
		if strings.Contains(page, "/adr/") { // earlier decisions
			continue
		}
		for _, found := range inline.FindAllStringSubmatch(read(t, page), -1) {
			if strings.ContainsAny(found[2], "\n<…") || strings.Contains(found[2], ": ") {
				continue
			}
			count++
			quoted := strings.HasPrefix(found[2], `"`)
			text := strings.Trim(found[2], `"`)
			known := false
			for path, schema := range byPath {
				if path != found[1] && !strings.HasSuffix(path, "."+found[1]) {
					continue
				}
				known = true
				if problem := fit(text, quoted, schema); problem != "" {
					t.Errorf("%s: `%s: %s`: %s", page, found[1], found[2], problem)
					break
				}
			}
			if problem := fit(text, quoted, nil); problem != "" && !known {
				t.Errorf("%s: `%s: %s`: %s", page, found[1], found[2], problem)
			}
		}
	}
	if count < 30 {
		t.Errorf("only %d values were found", count)
	}
}

func TestWhatYAMLMakesOfText(t *testing.T) {
	text := &apiextensionsv1.JSONSchemaProps{Type: "string"}
	number := &apiextensionsv1.JSONSchemaProps{Type: "integer"}
	for _, value := range []string{"On", "Off", "on", "off", "Yes", "No", "y", "n", "true", "0644", "0x1f", "1e3", "1_000", "12", "1.5", "null", "~", "Null", ""} {
		if fit(value, true, text) == "" {
			t.Errorf("%q passes for a string", value)
		}
		if canonical := slices.Contains([]string{"true", "12", "1.5", "null"}, value); fit(value, false, nil) == "" != canonical {
			t.Errorf("%q without quotes: %q", value, fit(value, false, nil))
		}
	}
	for _, value := range []string{"PoweredOn", "2026-11-25", "1Gi", "25%", "AA:BB", "12:30:00", "web-0", "*/Resources", "team-*", "guestinfo.ready"} {
		if problem := fit(value, false, text); problem != "" {
			t.Error(problem)
		}
	}
	if problem := fit("12", false, number); problem != "" {
		t.Error(problem)
	}
}
