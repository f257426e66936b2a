package hub

// Sessions are patched, never updated by PUT: on PUT, an API server creates a Lease that does not exist. The names in
// the rule for the shard map are the defaults of Options; permission to create cannot be limited to a name.

// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=get;list;watch;create;patch;delete,namespace=system
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=create,namespace=system
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch;update,resourceNames=vmgroup-operator-ring,namespace=system
