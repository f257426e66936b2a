package vsphere

// Place is a root folder that the operator found by name.
type Place struct {
	// InstanceUUID of the vCenter. A reference is valid only in its own vCenter.
	InstanceUUID string
	// Datacenter and Folder are the names from spec that led to the folder.
	Datacenter, Folder string
	// Root is the root folder.
	Root Ref
}

// PlaceProblem is the reason why the names in spec do not lead to the operator's VMs. It is zero if they do.
type PlaceProblem struct {
	Kind PlaceProblemKind
	// Message describes the problem and the action for a user.
	Message string
}

// PlaceProblemKind names a problem with a place.
type PlaceProblemKind string

// Problems with a place. With the first two, the operator continues to use the earlier place.
const (
	DatacenterUnclear PlaceProblemKind = "DatacenterUnclear"
	RootRenamed       PlaceProblemKind = "RootRenamed"
	VMsElsewhere      PlaceProblemKind = "VMsElsewhere"
)

// Placement names the location of a new VM. An empty field selects the vCenter's default.
type Placement struct {
	ResourcePool, Datastore, Network string
}

// ResolvedPlacement is a Placement with resolved names. A zero Ref leaves the choice to the template.
type ResolvedPlacement struct {
	ResourcePool, Datastore, Network Ref
	// Paths of the three, for grants and messages.
	ResourcePoolPath, DatastorePath, NetworkPath string
	// Compute is the location of the resource pool.
	Compute Compute
}

// Compute is a cluster, or a host outside of any cluster.
type Compute struct {
	Path string
	// Datastores are the paths of the datastores that the hosts reach. It is empty if they are unknown.
	Datastores []string
}
