// Package crd holds the generated CustomResourceDefinitions, so that the manager can install the ones that
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
	// file: a member that has a higher version keeps it, a member that has a lower one is upgraded. `make
	// manifests` writes it into the files as well, for whom applies those.
	Version = 16

	// LimitsVersion is the same for the VmGroupLimits CRD.
	LimitsVersion = 6

	// MemberClusterVersion is the same for the MemberCluster CRD, which only a hub has, as those that follow.
	MemberClusterVersion = 6

	// VCenterVersion is the same for the VCenter CRD.
	VCenterVersion = 5

	// VmGroupPolicyVersion is the same for the VmGroupPolicy CRD.
	VmGroupPolicyVersion = 9

	// VersionAnnotation on an installed CRD holds its Version as a decimal number.
	VersionAnnotation = "vm.codeconnect.vmworld.com/crd-version"

	// HashAnnotation on an installed CRD holds the hash of the spec that was installed, so that one Version
	// with other content (a development build) is noticed, and an unchanged one costs no write.
	HashAnnotation = "vm.codeconnect.vmworld.com/crd-hash"

	// VmGroupName is the name of the VmGroup CRD.
	VmGroupName = "vmgroups.vm.codeconnect.vmworld.com"

	// VmGroupLimitsName is the name of the VmGroupLimits CRD.
	VmGroupLimitsName = "vmgrouplimits.vm.codeconnect.vmworld.com"
)

//go:embed bases/*.yaml
var bases embed.FS

// Hub returns new copies of the CRDs that a hub has, those of members included: a hub may be a member itself.
func Hub() []*apiextensionsv1.CustomResourceDefinition {
	return append(Member(),
		stamped("bases/vm.codeconnect.vmworld.com_memberclusters.yaml", MemberClusterVersion),
		stamped("bases/vm.codeconnect.vmworld.com_vcenters.yaml", VCenterVersion),
		stamped("bases/vm.codeconnect.vmworld.com_vmgrouppolicies.yaml", VmGroupPolicyVersion))
}

// Member returns new copies of the CRDs that every member has, in the order in which they are installed.
func Member() []*apiextensionsv1.CustomResourceDefinition {
	return []*apiextensionsv1.CustomResourceDefinition{VmGroupCRD(), VmGroupLimitsCRD()}
}

// VmGroupCRD returns a new copy of the VmGroup CRD, stamped with [VersionAnnotation] and [HashAnnotation]. It
// panics when the generated file does not parse: that is a broken build, and this package's test finds it.
func VmGroupCRD() *apiextensionsv1.CustomResourceDefinition {
	return stamped("bases/vm.codeconnect.vmworld.com_vmgroups.yaml", Version)
}

// VmGroupLimitsCRD is [VmGroupCRD] for VmGroupLimits, the parameters of a member's admission policies.
func VmGroupLimitsCRD() *apiextensionsv1.CustomResourceDefinition {
	return stamped("bases/vm.codeconnect.vmworld.com_vmgrouplimits.yaml", LimitsVersion)
}

func stamped(file string, version int) *apiextensionsv1.CustomResourceDefinition {
	raw, err := bases.ReadFile(file)
	if err != nil {
		panic(fmt.Sprintf("embedded CRD %s: %v", file, err))
	}
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(raw, definition); err != nil {
		panic(fmt.Sprintf("embedded CRD %s: %v", file, err))
	}
	if definition.Annotations == nil {
		definition.Annotations = map[string]string{}
	}
	definition.Annotations[VersionAnnotation] = strconv.Itoa(version)
	definition.Annotations[HashAnnotation] = hash(definition)
	return definition
}

// hash of what the API server is asked to serve; sixteen hexadecimal digits are plenty to notice a change.
func hash(definition *apiextensionsv1.CustomResourceDefinition) string {
	content, err := json.Marshal(definition.Spec)
	if err != nil {
		panic(fmt.Sprintf("embedded CRD %s: %v", definition.Name, err))
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:8])
}
