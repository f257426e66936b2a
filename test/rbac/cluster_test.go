//go:build unix

package rbac

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/assets"
	"github.com/codeconnect/vmgroup-operator/test/localcluster"
)

// shared is the control plane of all tests of the package. It authorizes by RBAC.
var shared *localcluster.ControlPlane

func TestMain(m *testing.M) {
	cluster, err := localcluster.StartControlPlane(context.Background(), localcluster.Options{Name: "rbac"})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	shared = cluster
	code := m.Run()
	if err := cluster.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// kustomization returns the objects of a directory, namespaces first.
func kustomization(t *testing.T, directory string) []*unstructured.Unstructured {
	t.Helper()
	root, err := assets.Root()
	if err != nil {
		t.Fatal(err)
	}
	touch(t, filepath.Join(root, "config"))
	kustomize, err := assets.Tool(t.Context(), "kustomize", os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), kustomize, "build", filepath.Join(root, directory))
	command.Stderr = os.Stderr
	content, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	var objects []*unstructured.Unstructured
	for decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096); ; {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, object)
	}
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int {
		return rank(a) - rank(b)
	})
	return objects
}

// touch opens the files that kustomize reads: the go command would take the result of a test from its cache otherwise.
func touch(t *testing.T, directory string) {
	t.Helper()
	var files []string
	if err := filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if _, err := os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
}

func rank(object *unstructured.Unstructured) int {
	if object.GetKind() == "Namespace" {
		return 0
	}
	return 1
}

// administrator may do everything.
func administrator(t *testing.T) client.Client {
	t.Helper()
	return newClient(t, rest.ImpersonationConfig{})
}

// serviceAccount may do what the roles say.
func serviceAccount(t *testing.T, username string) client.Client {
	t.Helper()
	return newClient(t, rest.ImpersonationConfig{UserName: username, Groups: []string{
		"system:serviceaccounts", "system:authenticated",
	}})
}

func newClient(t *testing.T, as rest.ImpersonationConfig) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	config := rest.CopyConfig(shared.Config)
	config.Impersonate = as
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// apply makes the API server have objects, as an administrator, and grant what they say.
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
