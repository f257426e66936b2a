package death

// The operator only watches Pods, and only those of its own namespace.

// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch,namespace=system
