package chart

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// source is a module with the CRDs of kinds. No code here imports the module, so no go.mod names it.
type source struct {
	module, version, sum string
	files                []string
}

// sources of the kinds in the chart, besides Kubernetes' own and the operator's kinds.
var sources = []source{
	{"github.com/cert-manager/cert-manager", "v1.21.2", "h1:UWgoYM+KLNtRlqmoWOKjKBOBUPVHeepQ6/ac3ERJW68=", []string{
		"deploy/crds/cert-manager.io_certificates.yaml", "deploy/crds/cert-manager.io_issuers.yaml",
	}},
	{"github.com/prometheus-operator/prometheus-operator", "v0.85.0", "h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=", []string{
		"example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
		"example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
	}},
	{"sigs.k8s.io/gateway-api", "v1.6.0", "h1:735YBRj5NXFrOGX0GoSjwzUIzbz8kiEOfADsqHFmHgE=", []string{
		"config/crd/standard/gateway.networking.k8s.io_tlsroutes.yaml",
	}},
}

// kubernetes contains the schemas of Kubernetes' own kinds. tools/kube-apiserver determines its version.
const kubernetes = "k8s.io/kubernetes"

// writeSchemas writes a JSON schema for each kind into a folder of dir, in the form that kubeconform needs.
func writeSchemas(ctx context.Context, root, dir string) (schemas string, err error) {
	schemas = filepath.Join(dir, "schemas")
	if err := os.MkdirAll(schemas, 0o700); err != nil {
		return "", err
	}
	own, err := filepath.Glob(filepath.Join(root, "config", "crd", "bases", "*.yaml"))
	if err != nil {
		return "", err
	}
	for _, s := range sources {
		folder, err := s.download(ctx, dir)
		if err != nil {
			return "", err
		}
		for _, file := range s.files {
			own = append(own, filepath.Join(folder, file))
		}
	}
	for _, file := range own {
		if err := writeCRDSchemas(file, schemas); err != nil {
			return "", fmt.Errorf("%s: %w", file, err)
		}
	}
	return schemas, writeKubernetesSchemas(ctx, root, schemas)
}

// download returns the folder of the module, from the module cache or the proxy. dir must be outside of any module.
func (s source) download(ctx context.Context, dir string) (string, error) {
	command := exec.CommandContext(ctx, "go", "mod", "download", "-json", s.module+"@"+s.version)
	command.Dir = dir
	return s.folder(command)
}

func (s source) folder(command *exec.Cmd) (string, error) {
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("download %s: %w%s", s.module, err, stderrOf(err))
	}
	var found struct{ Dir, Sum string }
	if err := json.Unmarshal(out, &found); err != nil {
		return "", fmt.Errorf("download %s: %w", s.module, err)
	}
	if s.sum != "" && found.Sum != s.sum {
		return "", fmt.Errorf("%s %s has the checksum %s, want %s", s.module, s.version, found.Sum, s.sum)
	}
	return found.Dir, nil
}

// writeCRDSchemas writes a schema for each version of a CRD.
func writeCRDSchemas(file, schemas string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(content, definition); err != nil {
		return err
	}
	for _, version := range definition.Spec.Versions {
		encoded, err := json.Marshal(version.Schema.OpenAPIV3Schema)
		if err != nil {
			return err
		}
		var schema map[string]any
		if err := json.Unmarshal(encoded, &schema); err != nil {
			return err
		}
		properties, _ := schema["properties"].(map[string]any)
		properties["metadata"] = map[string]any{"type": "object"}
		strict(schema)
		if err := writeSchema(schemas, definition.Spec.Group, version.Name, definition.Spec.Names.Kind, schema); err != nil {
			return err
		}
	}
	return nil
}

// writeKubernetesSchemas writes a schema for each Kubernetes kind that is not a list.
func writeKubernetesSchemas(ctx context.Context, root, schemas string) error {
	command := exec.CommandContext(ctx, "go", "mod", "download", "-json", kubernetes)
	command.Dir = filepath.Join(root, "tools", "kube-apiserver")
	folder, err := source{module: kubernetes}.folder(command)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(filepath.Join(folder, "api", "openapi-spec", "swagger.json"))
	if err != nil {
		return err
	}
	var swagger struct {
		Definitions map[string]map[string]any `json:"definitions"`
	}
	if err := json.Unmarshal(content, &swagger); err != nil {
		return err
	}
	for _, definition := range swagger.Definitions {
		strict(definition)
		if definition["format"] == "int-or-string" {
			definition["type"] = []string{"string", "integer"}
		}
	}
	quantity, ok := swagger.Definitions["io.k8s.apimachinery.pkg.api.resource.Quantity"]
	if !ok {
		return errors.New("the schemas of Kubernetes have no Quantity: their names have changed")
	}
	quantity["type"] = []string{"string", "number"}
	for name, definition := range swagger.Definitions {
		kinds, _ := definition["x-kubernetes-group-version-kind"].([]any)
		// Options of requests belong to all groups.
		if len(kinds) != 1 || strings.HasSuffix(name, "List") {
			continue
		}
		kind, _ := kinds[0].(map[string]any)
		schema := map[string]any{"allOf": []any{definition}, "definitions": needed(definition, swagger.Definitions, map[string]any{})}
		if err := writeSchema(schemas, fmt.Sprint(kind["group"]), fmt.Sprint(kind["version"]), fmt.Sprint(kind["kind"]), schema); err != nil {
			return err
		}
	}
	return nil
}

// needed collects the definitions that a schema refers to, also indirectly.
func needed(schema any, all map[string]map[string]any, into map[string]any) map[string]any {
	switch s := schema.(type) {
	case map[string]any:
		if reference, ok := s["$ref"].(string); ok {
			name := strings.TrimPrefix(reference, "#/definitions/")
			if into[name] == nil {
				into[name] = all[name]
				needed(all[name], all, into)
			}
		}
		for _, below := range s {
			needed(below, all, into)
		}
	case []any:
		for _, below := range s {
			needed(below, all, into)
		}
	}
	return into
}

// strict makes a schema, and the schemas in it, refuse unknown fields.
func strict(schema any) {
	switch s := schema.(type) {
	case map[string]any:
		properties, object := s["properties"].(map[string]any)
		if object && s["additionalProperties"] == nil && s["x-kubernetes-preserve-unknown-fields"] == nil {
			s["additionalProperties"] = false
		}
		for _, below := range properties {
			strict(below)
		}
		if s["x-kubernetes-int-or-string"] == true {
			delete(s, "type")
		}
		strict(s["items"])
		strict(s["additionalProperties"])
	case []any:
		for _, below := range s {
			strict(below)
		}
	}
}

// writeSchema writes a file with the name from the template in [Schemas].
func writeSchema(schemas, group, version, kind string, schema any) error {
	if group == "" {
		group = version // kubeconform takes the first part of apiVersion as the group
	}
	content, err := json.Marshal(schema)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(schemas, group+"_"+version+"_"+strings.ToLower(kind)+".json"), content, 0o600)
}
