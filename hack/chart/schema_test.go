package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
)

func TestSchemaRefusesUnknownFieldsAtEveryLevel(t *testing.T) {
	most := int64(5)
	got := jsonSchema(apiextensionsv1.JSONSchemaProps{
		Type: "object", Required: []string{"a"},
		Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"a": {Type: "array", MaxItems: &most, Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{
				Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"b": {Type: "string"}},
			}}},
			"free":   {Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: &apiextensionsv1.JSONSchemaProps{Type: "string"}}},
			"amount": {XIntOrString: true, Pattern: "^[0-9]"},
		},
	})
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"additionalProperties":false,"properties":{"a":{"items":{"additionalProperties":false,"properties":{"b":{"type":"string"}},"type":"object"},` +
		`"maxItems":5,"type":"array"},"amount":{"pattern":"^[0-9]","type":["integer","string"]},` +
		`"free":{"additionalProperties":{"type":"string"},"type":"object"}},"required":["a"],"type":"object"}`
	if string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
}

// TestSchemaIsWrittenAgain writes the schema of a copy twice. The hand-written part must stay, and the generated part must be replaced.
func TestSchemaIsWrittenAgain(t *testing.T) {
	root, err := assets.Root()
	if err != nil {
		t.Fatal(err)
	}
	crds, path := filepath.Join(root, "config", "crd", "bases"), filepath.Join(t.TempDir(), "values.schema.json")
	if err := os.WriteFile(path, []byte("{\n  \"title\": \"by hand\",\n  \"$defs\": {\n    \"MemberClusterSpec\": {\"old\": 1}\n  }\n}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var first []byte
	for range 2 {
		if err := writeSchema(crds, path); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var schema struct {
			Title string
			Defs  map[string]struct{ Properties map[string]any } `json:"$defs"`
		}
		if err := json.Unmarshal(content, &schema); err != nil {
			t.Fatal(err)
		}
		if schema.Title != "by hand" || len(schema.Defs) != len(kinds) || strings.Contains(string(content), `"old"`) {
			t.Errorf("got %q and %d definitions", schema.Title, len(schema.Defs))
		}
		vcenter := schema.Defs["VCenterSpec"].Properties
		if vcenter["grants"] == nil || vcenter["server"] != nil {
			t.Errorf("the VCenter has the fields %v, want grants and not server", vcenter)
		}
		if first != nil && string(first) != string(content) {
			t.Error("writing it again changed it")
		}
		first = content
	}
}

func TestASchemaWithoutItsPlaceIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "values.schema.json")
	if err := os.WriteFile(path, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := writeSchema(t.TempDir(), path); err == nil || !strings.Contains(err.Error(), "MemberClusterSpec") {
		t.Errorf("got %v, want the definition that is missing", err)
	}
}

func TestAFolderOfTheChartHoldsNothingElse(t *testing.T) {
	config, chart := t.TempDir(), t.TempDir()
	for path, content := range map[string]string{
		filepath.Join(config, "a", "x.yaml"): "x", filepath.Join(config, "a", "y.txt"): "y", filepath.Join(chart, "b", "old.yaml"): "old",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := (folder{to: "b", from: "a"}).do(config, chart); err != nil {
		t.Fatal(err)
	}
	found, err := os.ReadDir(filepath.Join(chart, "b"))
	if err != nil || len(found) != 1 || found[0].Name() != "x.yaml" {
		t.Errorf("got %v, %v; want x.yaml alone", found, err)
	}
	if err := (folder{to: "b", from: "nothing"}).do(config, chart); err == nil {
		t.Error("an empty source was taken for a good one")
	}
}
