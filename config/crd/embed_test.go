package crd

import (
	"strconv"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

func TestCRDsOfAMemberAreStampedAndServeV1alpha1(t *testing.T) {
	for _, c := range []struct {
		name    string
		version int
		crd     func() *apiextensionsv1.CustomResourceDefinition
	}{
		{VmGroupName, Version, VmGroupCRD},
		{VmGroupLimitsName, LimitsVersion, VmGroupLimitsCRD},
	} {
		t.Run(c.name, func(t *testing.T) {
			definition := c.crd()
			if definition.Name != c.name {
				t.Errorf("name = %q, want %q", definition.Name, c.name)
			}
			if got := definition.Annotations[VersionAnnotation]; got != strconv.Itoa(c.version) {
				t.Errorf("%s = %q, want %d", VersionAnnotation, got, c.version)
			}
			if len(definition.Annotations[HashAnnotation]) != 16 {
				t.Errorf("%s = %q, want 16 hexadecimal digits", HashAnnotation, definition.Annotations[HashAnnotation])
			}
			served := false
			for _, version := range definition.Spec.Versions {
				served = served || version.Name == "v1alpha1" && version.Served && version.Storage
			}
			if !served {
				t.Error("v1alpha1 must be served and stored")
			}
			definition.Spec.Versions = nil
			if hash(definition) == c.crd().Annotations[HashAnnotation] {
				t.Error("the hash must follow the content")
			}
			if c.crd().Spec.Versions == nil {
				t.Error("every call must return its own copy")
			}
		})
	}
}

func TestAHubHasAllCRDs(t *testing.T) {
	files, err := bases.ReadDir("bases")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, definition := range Hub() {
		names[definition.Name] = true
		if version, err := strconv.Atoi(definition.Annotations[VersionAnnotation]); err != nil || version < 1 {
			t.Errorf("%s has the version %q", definition.Name, definition.Annotations[VersionAnnotation])
		}
	}
	if len(names) != len(files) {
		t.Errorf("a hub has %v, and there are %d files", names, len(files))
	}
}

// TestFilesAreStampedAsTheOperatorStamps: a CRD that a person applied from its file must not look older than it is, or an older
// operator would downgrade it.
func TestFilesAreStampedAsTheOperatorStamps(t *testing.T) {
	files, err := bases.ReadDir("bases")
	if err != nil {
		t.Fatal(err)
	}
	wanted := map[string]map[string]string{}
	for _, definition := range Hub() {
		wanted[definition.Name] = definition.Annotations
	}
	for _, file := range files {
		content, err := bases.ReadFile("bases/" + file.Name())
		if err != nil {
			t.Fatal(err)
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(content, definition); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{VersionAnnotation, HashAnnotation} {
			if got, want := definition.Annotations[key], wanted[definition.Name][key]; got != want || want == "" {
				t.Errorf("%s has %s %q, the operator installs it with %q; run make manifests", file.Name(), key, got, want)
			}
		}
	}
}

func TestAMemberHasBothCRDs(t *testing.T) {
	members := Member()
	names := make([]string, 0, len(members))
	for _, definition := range members {
		names = append(names, definition.Name)
	}
	if len(names) != 2 || names[0] != VmGroupName || names[1] != VmGroupLimitsName {
		t.Errorf("CRDs of a member: %v", names)
	}
}
