//go:build unix

package rbac

import (
	"os"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
	"github.com/codeconnect/vmgroup-operator/test/harness/kustomize"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

// shared is the control plane of all tests of the package. It authorizes by RBAC.
var shared = localcluster.Share("rbac")

func TestMain(m *testing.M) { os.Exit(shared.Run(m)) }

// kustomization returns the objects of a directory, namespaces first.
func kustomization(t *testing.T, directory string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := kustomize.Build(t.Context(), directory)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int {
		return rank(a) - rank(b)
	})
	return objects
}

func rank(object *unstructured.Unstructured) int {
	if object.GetKind() == "Namespace" {
		return 0
	}
	return 1
}

// administrator has all permissions.
func administrator(t *testing.T) client.Client {
	t.Helper()
	return newClient(t, rest.ImpersonationConfig{})
}

// serviceAccount has the permissions of its roles.
func serviceAccount(t *testing.T, username string) client.Client {
	t.Helper()
	return newClient(t, rest.ImpersonationConfig{UserName: username, Groups: []string{
		"system:serviceaccounts", "system:authenticated",
	}})
}

func newClient(t *testing.T, as rest.ImpersonationConfig) client.Client {
	t.Helper()
	scheme := allkinds.Scheme()
	config := rest.CopyConfig(shared.Get(t).Config)
	config.Impersonate = as
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// apply creates objects in the API server, as an administrator, and grants their permissions.
func apply(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	admin := administrator(t)
	for _, object := range objects {
		err := admin.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("test"), client.ForceOwnership)
		if err != nil {
			t.Fatalf("%s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
	awaitEffect(t, admin, objects)
}
