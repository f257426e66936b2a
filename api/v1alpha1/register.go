package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version of every kind in this package.
var GroupVersion = schema.GroupVersion{Group: "vm.codeconnect.vmworld.com", Version: "v1alpha1"}

var schemeBuilder = runtime.NewSchemeBuilder(func(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&VmGroup{}, &VmGroupList{},
		&VCenter{}, &VCenterList{},
		&MemberCluster{}, &MemberClusterList{},
		&VmGroupPolicy{}, &VmGroupPolicyList{},
		&VmGroupLimits{}, &VmGroupLimitsList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
})

// AddToScheme registers every kind of this package. It fails only when the scheme already holds other Go
// types under the same names.
func AddToScheme(scheme *runtime.Scheme) error { return schemeBuilder.AddToScheme(scheme) }

// Kind returns kind qualified with this package's group.
func Kind(kind string) schema.GroupKind { return GroupVersion.WithKind(kind).GroupKind() }

// Resource returns resource qualified with this package's group.
func Resource(resource string) schema.GroupResource {
	return GroupVersion.WithResource(resource).GroupResource()
}
