package hub

// Sessions are patched, never put: an API server creates a Lease that is put and does not exist. The names that a rule
// for a ring gives are those of Options' defaults; a right to create cannot be limited to a name.

// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=get;list;watch;create;patch;delete,namespace=system
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=create,namespace=system
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch;update,resourceNames=vmgroup-operator-ring,namespace=system
