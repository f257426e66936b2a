package crds

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/codeconnect/vmgroup-operator/config/crd"
)

// Mapper maps CustomResourceDefinitions and the hub's kinds. It sends no request, because a kind becomes available, and disappears, a moment after its CRD.
func Mapper() meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(Kind, meta.RESTScopeRoot)
	for _, definition := range crd.Hub() {
		scope := meta.RESTScope(meta.RESTScopeNamespace)
		if definition.Spec.Scope == apiextensionsv1.ClusterScoped {
			scope = meta.RESTScopeRoot
		}
		for _, version := range definition.Spec.Versions {
			of := schema.GroupVersion{Group: definition.Spec.Group, Version: version.Name}
			mapper.AddSpecific(of.WithKind(definition.Spec.Names.Kind), of.WithResource(definition.Spec.Names.Plural),
				of.WithResource(definition.Spec.Names.Singular), scope)
		}
	}
	return mapper
}
