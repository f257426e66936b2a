package crd

import (
	"strconv"
	"testing"
)

func TestVmGroupCRDIsStampedAndServesV1alpha1(t *testing.T) {
	definition := VmGroupCRD()
	if definition.Name != VmGroupName {
		t.Errorf("name = %q, want %q", definition.Name, VmGroupName)
	}
	if got := definition.Annotations[VersionAnnotation]; got != strconv.Itoa(Version) {
		t.Errorf("%s = %q, want %d", VersionAnnotation, got, Version)
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
	if hash(definition) == VmGroupCRD().Annotations[HashAnnotation] {
		t.Error("the hash must follow the content")
	}
	if VmGroupCRD().Spec.Versions == nil {
		t.Error("every call must return its own copy")
	}
}
