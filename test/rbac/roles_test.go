//go:build unix

package rbac

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

var update = flag.Bool("update", false, "write the golden files")

// TestWhatEachIdentityIsGranted compares the rules of every ServiceAccount and group with a file in testdata. A change
// that widens the operator's permissions on the hub or in a member must change that file, where a reviewer sees it.
func TestWhatEachIdentityIsGranted(t *testing.T) {
	for _, directory := range []string{"default", "with-webhooks", "member", "member-renewal", "local-member"} {
		t.Run(directory, func(t *testing.T) {
			got := strings.Join(grants(t, kustomization(t, "config/"+directory)), "\n") + "\n"
			golden := filepath.Join("testdata", directory+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("go test ./test/rbac -args -update writes the file anew (-want +got):\n%s", diff)
			}
		})
	}
}

// grants are one line for each identity, place, rule and resource, sorted.
func grants(t *testing.T, objects []*unstructured.Unstructured) []string {
	t.Helper()
	var lines []string
	bound(t, objects, func(subject rbacv1.Subject, namespace string, rule rbacv1.PolicyRule) {
		place := "in all namespaces"
		if namespace != "" {
			place = "in " + namespace
		}
		for _, what := range targets(rule) {
			lines = append(lines, fmt.Sprintf("%s %s %s: %s %s", subject.Kind, strings.TrimPrefix(subject.Namespace+"/"+subject.Name, "/"), place, what, strings.Join(rule.Verbs, ",")))
		}
	})
	slices.Sort(lines)
	return slices.Compact(lines)
}

// bound calls yield for each subject and rule that a binding combines, in a namespace or, with "", in all.
func bound(t *testing.T, objects []*unstructured.Unstructured, yield func(subject rbacv1.Subject, namespace string, rule rbacv1.PolicyRule)) {
	t.Helper()
	rules := map[string][]rbacv1.PolicyRule{}
	for _, object := range objects {
		switch object.GetKind() {
		case "ClusterRole", "Role":
			role := &rbacv1.ClusterRole{} // a Role has the same fields
			convert(t, object, role)
			rules[object.GetKind()+" "+object.GetNamespace()+"/"+object.GetName()] = role.Rules
		}
	}
	for _, object := range objects {
		if object.GetKind() != "ClusterRoleBinding" && object.GetKind() != "RoleBinding" {
			continue
		}
		binding := &rbacv1.ClusterRoleBinding{} // a RoleBinding has the same fields
		convert(t, object, binding)
		namespace := object.GetNamespace()
		if binding.RoleRef.Kind == "ClusterRole" {
			namespace = ""
		}
		granted, known := rules[binding.RoleRef.Kind+" "+namespace+"/"+binding.RoleRef.Name]
		if !known {
			t.Errorf("%s %s binds a role that is not there", object.GetKind(), object.GetName())
		}
		for _, subject := range binding.Subjects {
			for _, rule := range granted {
				yield(subject, object.GetNamespace(), rule)
			}
		}
	}
}

// awaitEffect waits until the API server applies its roles and bindings: it learns of them by four independent watches.
func awaitEffect(t *testing.T, admin client.Client, objects []*unstructured.Unstructured) {
	t.Helper()
	bound(t, objects, func(subject rbacv1.Subject, namespace string, rule rbacv1.PolicyRule) {
		if subject.Kind != rbacv1.ServiceAccountKind || len(rule.Resources) == 0 {
			return
		}
		username := "system:serviceaccount:" + subject.Namespace + ":" + subject.Name
		a := access{verb: rule.Verbs[0], group: rule.APIGroups[0], namespace: namespace}
		a.resource, a.subresource, _ = strings.Cut(rule.Resources[0], "/")
		if len(rule.ResourceNames) > 0 {
			a.name = rule.ResourceNames[0]
		}
		await.NoError(t, username+" may "+a.String(), func() error {
			if !mayAt(t, admin, username, a) {
				return errors.New("not yet")
			}
			return nil
		})
	})
}

func targets(rule rbacv1.PolicyRule) []string {
	result := slices.Clone(rule.NonResourceURLs)
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			name := resource
			if group != "" {
				name += "." + group
			}
			if len(rule.ResourceNames) > 0 {
				name += " [" + strings.Join(rule.ResourceNames, " ") + "]"
			}
			result = append(result, name)
		}
	}
	return result
}

func convert(t *testing.T, from *unstructured.Unstructured, to any) {
	t.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(from.Object, to); err != nil {
		t.Fatal(err)
	}
}
