package crds

import (
	"maps"
	"slices"
	"strconv"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/config/crd"
)

// Standing is the relation of a cluster's CRD to the CRD of this release.
type Standing int

const (
	// Missing means that the cluster has no such CRD.
	Missing Standing = iota
	// Foreign means that the CRD has our name and another kind or scope. It belongs to another product, and the operator must not change it.
	Foreign
	// Older means that the operator must replace the CRD. Its version is lower or missing (the original operator's CRD), or one version has other content (a
	// development build).
	Older
	// Current means that the CRD has the version and content of this release.
	Current
	// Newer CRDs stay, because a downgrade would remove fields and their values. Such a CRD serves the API version of this release.
	Newer
	// NewerUnusable CRDs stay too, but this release cannot work with them: they no longer serve its API version.
	NewerUnusable
)

// StandingOf compares installed with the CRD of this release. installed is nil if the cluster has none. The hub and members use this one rule.
func StandingOf(installed, wanted *apiextensionsv1.CustomResourceDefinition) Standing {
	have, want := VersionOf(installed), VersionOf(wanted)
	switch {
	case installed == nil:
		return Missing
	case installed.Spec.Names.Kind != wanted.Spec.Names.Kind || installed.Spec.Scope != wanted.Spec.Scope:
		return Foreign
	case have > want && !IsServed(installed):
		return NewerUnusable
	case have > want:
		return Newer
	case have == want && installed.Annotations[crd.HashAnnotation] == wanted.Annotations[crd.HashAnnotation]:
		return Current
	}
	return Older
}

// replacement returns installed with wanted's content. Other labels and annotations stay. It replaces the whole spec. A server-side apply would merge it:
// columns and fields that another field manager owns, such as those of the original operator's CRD, would outlive the upgrade.
func replacement(installed, wanted *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	next := installed.DeepCopy()
	next.Spec = *wanted.Spec.DeepCopy()
	next.Annotations = with(next.Annotations, wanted.Annotations)
	next.Labels = with(next.Labels, wanted.Labels)
	return next
}

func with(have, more map[string]string) map[string]string {
	if have == nil {
		return maps.Clone(more)
	}
	maps.Copy(have, more)
	return have
}

// VersionOf returns 0 for nil and for a CRD without [crd.VersionAnnotation]. All CRDs of the operator have the annotation, so another tool made the CRD or
// removed it.
func VersionOf(definition *apiextensionsv1.CustomResourceDefinition) int {
	if definition == nil {
		return 0
	}
	version, err := strconv.Atoi(definition.Annotations[crd.VersionAnnotation])
	if err != nil {
		return 0
	}
	return version
}

// IsServed reports whether the CRD serves the API version of this release.
func IsServed(definition *apiextensionsv1.CustomResourceDefinition) bool {
	return slices.ContainsFunc(definition.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Name == v1alpha1.GroupVersion.Version && v.Served
	})
}

// IsEstablished reports whether the API server accepted the names, so that clients can use the resource.
func IsEstablished(definition *apiextensionsv1.CustomResourceDefinition) bool {
	return slices.ContainsFunc(definition.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
	})
}
