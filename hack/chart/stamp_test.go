package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/config/crd"
)

// generatedCRD is the start of a file of controller-gen. The schema of a field can also have annotations.
const generatedCRD = `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  annotations:
    controller-gen.kubebuilder.io/version: v0.21.0
  name: things.example.com
spec:
  group: example.com # stays
`

func folderWith(t *testing.T, content string) (dir, file string) {
	t.Helper()
	dir = t.TempDir()
	file = filepath.Join(dir, "things.yaml")
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir, file
}

func versioned(name, version string) []*apiextensionsv1.CustomResourceDefinition {
	return []*apiextensionsv1.CustomResourceDefinition{{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{
		crd.VersionAnnotation: version, crd.HashAnnotation: "abc", "more": "is not written",
	}}}}
}

// TestStampsAreWrittenIntoTheFile stamps twice with different versions, as after a version change without a run of controller-gen.
func TestStampsAreWrittenIntoTheFile(t *testing.T) {
	dir, file := folderWith(t, generatedCRD)
	for _, version := range []string{"6", "7"} {
		if err := stampBases(dir, versioned("things.example.com", version)); err != nil {
			t.Fatal(err)
		}
	}
	if err := keepCRDs(dir); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(generatedCRD, "v0.21.0\n", `v0.21.0
    helm.sh/resource-policy: "keep"
    vm.codeconnect.vmworld.com/crd-hash: "abc"
    vm.codeconnect.vmworld.com/crd-version: "7"
`, 1)
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestWhatCannotBeStampedIsNamed(t *testing.T) {
	for name, c := range map[string]struct{ content, want string }{
		"a CRD that the operator does not install": {generatedCRD, "things.example.com"},
		"a file without annotations":               {"metadata:\n  name: others.example.com\n", "no annotations"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := folderWith(t, c.content)
			if err := stampBases(dir, versioned("others.example.com", "1")); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	if err := stampBases(t.TempDir(), nil); err == nil {
		t.Error("an empty folder was taken for a good one")
	}
}
