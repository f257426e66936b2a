package chart

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// same maps files below config/, whose objects the chart has too, to the set of values that renders them.
var same = map[string]string{
	"rbac/role.yaml":                               "default",
	"rbac/role_binding.yaml":                       "default",
	"events/role.yaml":                             "default",
	"rbac/metrics_auth_role.yaml":                  "default",
	"rbac/metrics_reader_role.yaml":                "default",
	"rbac/flow_schema.yaml":                        "default",
	"rbac/logins.yaml":                             "default",
	"rbac/member_tokens.yaml":                      "default",
	"webhook/role.yaml":                            "default",
	"webhook/manifests.yaml":                       "default",
	"certmanager/issuers.yaml":                     "default",
	"certmanager/certificates.yaml":                "default",
	"local-member/bindings.yaml":                   "single-cluster",
	"member-rbac/roles/runtime-clusterrole.yaml":   "single-cluster",
	"member-rbac/roles/runtime-role.yaml":          "single-cluster",
	"member-rbac/roles/limits-reader.yaml":         "single-cluster",
	"member-rbac/roles/vmgroups.yaml":              "single-cluster",
	"member-rbac/roles/bootstrap-role.yaml":        "single-cluster",
	"member-rbac/roles/bootstrap-clusterrole.yaml": "single-cluster",
}

// SameAsConfig compares the objects that the chart and config/ share. Both ways to install must give the same rights.
func SameAsConfig(ctx context.Context, root string, _ []string) error {
	files, err := render(ctx, root)
	if err != nil {
		return err
	}
	var problems []error
	for _, path := range slices.Sorted(maps.Keys(same)) {
		wanted, err := objects(filepath.Join(root, "config", path))
		if err != nil {
			return err
		}
		rendered, err := objects(files[same[path]])
		if err != nil {
			return err
		}
		for _, object := range wanted {
			problems = append(problems, compare(path, object, rendered))
		}
	}
	return errors.Join(problems...)
}

// compare searches the rendered objects for the wanted one and compares them without metadata.
func compare(path string, wanted *unstructured.Unstructured, rendered []*unstructured.Unstructured) error {
	i := slices.IndexFunc(rendered, func(other *unstructured.Unstructured) bool {
		return other.GetKind() == wanted.GetKind() && other.GetName() == wanted.GetName()
	})
	name := wanted.GetKind() + " " + wanted.GetName()
	if i < 0 {
		return fmt.Errorf("  config/%s has %s, which the chart does not have", path, name)
	}
	other := rendered[i].DeepCopy()
	for key, value := range wanted.Object {
		if key != "metadata" && !reflect.DeepEqual(value, other.Object[key]) {
			return fmt.Errorf("  %s of config/%s and of the chart differ in %s:\n%s\n%s", name, path, key, text(value), text(other.Object[key]))
		}
	}
	return nil
}

func text(value any) string {
	content, _ := yaml.Marshal(value)
	return string(content)
}

// Rights checks all roles of the chart: no wildcards, and no access to Secrets across namespaces.
func Rights(ctx context.Context, root string, _ []string) error {
	files, err := render(ctx, root)
	if err != nil {
		return err
	}
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(files)) {
		rendered, err := objects(files[name])
		if err != nil {
			return err
		}
		for _, object := range rendered {
			if err := judgeRole(object); err != nil {
				problems = append(problems, fmt.Errorf("  %s: %s %s: %w", name, object.GetKind(), object.GetName(), err))
			}
		}
	}
	return errors.Join(problems...)
}

var (
	errStar    = errors.New("a star grants more than is needed")
	errSecrets = errors.New("no role may read the Secrets of all namespaces")
)

// judgeRole checks the rules of a role. Other objects have none.
func judgeRole(object *unstructured.Unstructured) error {
	if object.GetKind() != "ClusterRole" && object.GetKind() != "Role" {
		return nil
	}
	role := &rbacv1.ClusterRole{} // a Role has the same rules
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, role); err != nil {
		return err
	}
	for _, rule := range role.Rules {
		for _, words := range [][]string{rule.Verbs, rule.APIGroups, rule.Resources, rule.NonResourceURLs} {
			if slices.Contains(words, "*") {
				return errStar
			}
		}
		if object.GetKind() == "ClusterRole" && slices.Contains(rule.Resources, "secrets") {
			return errSecrets
		}
	}
	return nil
}

// objects reads the objects of a multi-document YAML file.
func objects(path string) ([]*unstructured.Unstructured, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var found []*unstructured.Unstructured
	for documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content))); ; {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &object.Object); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if len(object.Object) > 0 {
			found = append(found, object)
		}
	}
}
