package vsphere

// Placement names where a new VM goes; an empty field means the vCenter's default.
type Placement struct {
	ResourcePool, Datastore, Network string
}

// ResolvedPlacement is a Placement whose names were found. A zero Ref leaves the choice to the template.
type ResolvedPlacement struct {
	ResourcePool, Datastore, Network Ref
	// Paths of the three, for grants and messages.
	ResourcePoolPath, DatastorePath, NetworkPath string
	// Compute is where the resource pool is.
	Compute Compute
}

// Compute is a cluster, or a host that is in none.
type Compute struct {
	Path string
	// Datastores are the paths of those that its hosts reach; none if that is not known.
	Datastores []string
}
