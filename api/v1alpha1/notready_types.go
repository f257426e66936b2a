package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// NotReadyGroups are the VmGroups of a member or a VCenter that are not ready.
type NotReadyGroups struct {
	// groups is their number.
	// +required
	Groups int32 `json:"groups"`
	// oldest is the time since which the first of them has not been ready.
	// +optional
	Oldest *metav1.Time `json:"oldest,omitempty"`
	// worst lists the groups that have not been ready for the longest time, the oldest first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	Worst []NotReadyGroup `json:"worst,omitempty"`
}

// NotReadyGroup is a VmGroup that is not ready.
type NotReadyGroup struct {
	// member of the VmGroup, in the status of a VCenter.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Member string `json:"member,omitempty"`
	// vcenter of the VmGroup, in the status of a MemberCluster.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	VCenter string `json:"vcenter,omitempty"`
	// namespace of the VmGroup.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Namespace string `json:"namespace"`
	// name of the VmGroup.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// reason of condition Ready of the VmGroup, or Other.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Reason string `json:"reason,omitempty"`
	// since when the VmGroup has not been ready.
	// +required
	Since metav1.Time `json:"since"`
}
