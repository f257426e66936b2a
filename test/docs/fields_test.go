package docs

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// TestKubectlExplainSaysWhatEachValueOfAFieldDoes checks each enum field of spec. A description that only lists the
// values has too few words.
func TestKubectlExplainSaysWhatEachValueOfAFieldDoes(t *testing.T) {
	crds, err := filepath.Glob(filepath.Join(root, "config", "crd", "bases", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, file := range crds {
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict([]byte(read(t, file)), definition); err != nil {
			t.Fatal(err)
		}
		// Only the operator writes VmGroupLimits.
		if definition.Spec.Names.Kind == "VmGroupLimits" {
			continue
		}
		for _, version := range definition.Spec.Versions {
			spec := version.Schema.OpenAPIV3Schema.Properties["spec"]
			everyField(definition.Spec.Names.Kind+".spec", &spec, func(path string, field *apiextensionsv1.JSONSchemaProps) {
				if len(field.Enum) == 0 {
					return
				}
				count++
				for _, value := range field.Enum {
					name := strings.Trim(string(value.Raw), `"`)
					if !regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`).MatchString(field.Description) {
						t.Errorf("%s does not describe value %s: %s", path, name, field.Description)
					}
				}
				if words := len(strings.Fields(field.Description)); words < 2+4*len(field.Enum) {
					t.Errorf("%s lists its values and explains none: %s", path, field.Description)
				}
			})
		}
	}
	if count < 15 {
		t.Errorf("only %d fields were found", count)
	}
}

func everyField(path string, schema *apiextensionsv1.JSONSchemaProps, visit func(string, *apiextensionsv1.JSONSchemaProps)) {
	visit(path, schema)
	for name := range schema.Properties {
		field := schema.Properties[name]
		everyField(fmt.Sprintf("%s.%s", path, name), &field, visit)
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		everyField(path+"[]", schema.Items.Schema, visit)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		everyField(path+"{}", schema.AdditionalProperties.Schema, visit)
	}
}
