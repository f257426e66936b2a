package crds

import (
	"maps"
	"slices"
	"strconv"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/config/crd"
)

// Standing is how the CRD of a cluster relates to the one of this release.
type Standing int

const (
	// Missing means that the cluster has none.
	Missing Standing = iota
	// Foreign has our name and another kind or scope: it is somebody else's, and nothing may be done with it.
	Foreign
	// Older is to be replaced: by its version, or because it has none (the original operator's), or because one version has
	// other content (a development build).
	Older
	// Current has the version and content of this release.
	Current
	// Newer stays as it is: a downgrade would take fields and their values away. It serves what this release needs.
	Newer
	// NewerUnusable stays as well, and this release cannot work with it: it no longer serves our version of the API.
	NewerUnusable
)

// StandingOf compares installed, which is nil where there is none, with the CRD of this release. This is the one rule for hub and members.
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

// replacement returns installed with wanted's content; labels and annotations that are not ours stay. The whole spec is
// replaced, and not merged as a server-side apply would: columns and fields that another field manager owns, such as those of
// the original operator's CRD, would outlive the upgrade.
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

// VersionOf is 0 for none, and for a CRD without [crd.VersionAnnotation], which all CRDs of the operator have: another tool made it, or removed the annotation.
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

// IsServed says whether the cluster is asked to serve the version of the API that this release works with.
func IsServed(definition *apiextensionsv1.CustomResourceDefinition) bool {
	return slices.ContainsFunc(definition.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Name == v1alpha1.GroupVersion.Version && v.Served
	})
}

// IsEstablished says whether the API server has accepted the names, so that the resource can be used.
func IsEstablished(definition *apiextensionsv1.CustomResourceDefinition) bool {
	return slices.ContainsFunc(definition.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
	})
}
