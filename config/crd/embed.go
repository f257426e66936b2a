// Package crd holds the generated CustomResourceDefinitions, so that the manager can install the one that
// members need without a file beside its binary.
package crd

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

const (
	// Version counts the published shapes of the VmGroup CRD. Raise it with every change of the generated
	// file: a member that has a higher version keeps it, a member that has a lower one is upgraded.
	Version = 1

	// VersionAnnotation on an installed CRD holds its Version as a decimal number.
	VersionAnnotation = "vm.codeconnect.vmworld.com/crd-version"

	// HashAnnotation on an installed CRD holds the hash of the spec that was installed, so that one Version
	// with other content (a development build) is noticed, and an unchanged one costs no write.
	HashAnnotation = "vm.codeconnect.vmworld.com/crd-hash"

	// VmGroupName is the name of the VmGroup CRD.
	VmGroupName = "vmgroups.vm.codeconnect.vmworld.com"
)

//go:embed bases/*.yaml
var bases embed.FS

// VmGroupCRD returns a new copy of the VmGroup CRD, stamped with [VersionAnnotation] and [HashAnnotation]. It
// panics when the generated file does not parse: that is a broken build, and this package's test finds it.
func VmGroupCRD() *apiextensionsv1.CustomResourceDefinition {
	raw, err := bases.ReadFile("bases/vm.codeconnect.vmworld.com_vmgroups.yaml")
	if err != nil {
		panic(fmt.Sprintf("embedded VmGroup CRD: %v", err))
	}
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(raw, definition); err != nil {
		panic(fmt.Sprintf("embedded VmGroup CRD: %v", err))
	}
	if definition.Annotations == nil {
		definition.Annotations = map[string]string{}
	}
	definition.Annotations[VersionAnnotation] = strconv.Itoa(Version)
	definition.Annotations[HashAnnotation] = hash(definition)
	return definition
}

// hash of what the API server is asked to serve; sixteen hexadecimal digits are plenty to notice a change.
func hash(definition *apiextensionsv1.CustomResourceDefinition) string {
	content, err := json.Marshal(definition.Spec)
	if err != nil {
		panic(fmt.Sprintf("embedded VmGroup CRD: %v", err))
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:8])
}
