package death

// Pods are only watched, and only those of the operator's own namespace.

// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch,namespace=system
