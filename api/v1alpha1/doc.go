// Package v1alpha1 is the API of the VmGroup operator, group vm.codeconnect.vmworld.com.
//
// [VmGroup] lives in member clusters, where teams apply it. [VCenter], [MemberCluster] and [VmGroupPolicy]
// live on the hub cluster, where hub administrators run the operator.
//
// The package keeps the group, version, kind, short name and first columns of the original codeconnect VM
// operator, so that its objects stay readable. It imports apimachinery only, so other programs can use it
// without the operator's dependencies.
//
// +kubebuilder:object:generate=true
// +groupName=vm.codeconnect.vmworld.com
package v1alpha1
