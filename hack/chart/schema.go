package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// firstGenerated begins the generated part of the schema: the last entries of its $defs, up to the end of the file.
const firstGenerated = "\n    \"MemberClusterSpec\": "

// kind is a kind that the chart creates objects of from values.
type kind struct {
	definition, file string
	// own are the fields of its spec that have values of their own in the chart.
	own []string
}

// kinds are in the order of their definitions.
var kinds = []kind{
	{"MemberClusterSpec", "memberclusters", []string{"kubeconfigSecretRef", "bootstrapKubeconfigSecretRef"}},
	{"VCenterSpec", "vcenters", []string{"server", "credentialsSecretRef"}},
	{"VmGroupPolicySpec", "vmgrouppolicies", nil},
}

// writeSchema writes the specs of the kinds into the schema of the values, so that Helm refuses a wrong value before it sends anything.
func writeSchema(crds, path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	byHand, _, found := bytes.Cut(content, []byte(firstGenerated))
	if !found {
		return fmt.Errorf("%s has no definition of %s", path, kinds[0].definition)
	}
	schema := bytes.NewBuffer(byHand)
	for i, k := range kinds {
		spec, err := k.spec(crds)
		if err != nil {
			return err
		}
		definition, err := json.MarshalIndent(spec, "    ", " ")
		if err != nil {
			return err
		}
		if i > 0 {
			schema.WriteByte(',')
		}
		fmt.Fprintf(schema, "\n    %q: %s", k.definition, definition)
	}
	schema.WriteString("\n  }\n}\n")
	if !json.Valid(schema.Bytes()) {
		return fmt.Errorf("%s would not be JSON: the generated definitions have to be its end", path)
	}
	return os.WriteFile(path, schema.Bytes(), 0o644)
}

// spec returns the schema of the fields that users can set in the kind's spec.
func (k kind) spec(crds string) (map[string]any, error) {
	content, err := os.ReadFile(filepath.Join(crds, "vm.codeconnect.vmworld.com_"+k.file+".yaml"))
	if err != nil {
		return nil, err
	}
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(content, definition); err != nil {
		return nil, fmt.Errorf("%s: %w", k.file, err)
	}
	spec := definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	for _, field := range k.own {
		if _, ok := spec.Properties[field]; !ok {
			return nil, fmt.Errorf("%s: its spec has no field %s", k.file, field)
		}
		delete(spec.Properties, field)
	}
	spec.Required = nil // the API server checks it; Helm first merges several files of values
	return jsonSchema(spec), nil
}

// jsonSchema returns the part of a CRD's schema that JSON validators understand. It refuses unknown fields.
func jsonSchema(in apiextensionsv1.JSONSchemaProps) map[string]any {
	out := map[string]any{}
	if in.XIntOrString {
		out["type"] = []string{"integer", "string"}
		if in.Pattern != "" {
			out["pattern"] = in.Pattern
		}
		return out
	}
	if in.Type != "" {
		out["type"] = in.Type
	}
	if in.Description != "" {
		out["description"] = in.Description
	}
	if len(in.Enum) > 0 {
		out["enum"] = in.Enum
	}
	if in.Pattern != "" {
		out["pattern"] = in.Pattern
	}
	for key, limit := range map[string]*int64{"maxLength": in.MaxLength, "minLength": in.MinLength, "maxItems": in.MaxItems, "minItems": in.MinItems} {
		if limit != nil {
			out[key] = *limit
		}
	}
	for key, limit := range map[string]*float64{"minimum": in.Minimum, "maximum": in.Maximum} {
		if limit != nil {
			out[key] = *limit
		}
	}
	if in.Items != nil && in.Items.Schema != nil {
		out["items"] = jsonSchema(*in.Items.Schema)
	}
	if in.AdditionalProperties != nil && in.AdditionalProperties.Schema != nil {
		out["additionalProperties"] = jsonSchema(*in.AdditionalProperties.Schema)
	}
	if len(in.Properties) > 0 {
		properties := map[string]any{}
		for name, property := range in.Properties {
			properties[name] = jsonSchema(property)
		}
		out["properties"], out["additionalProperties"] = properties, false
		if len(in.Required) > 0 {
			out["required"] = in.Required
		}
	}
	return out
}
