package vsphere

// Place is a root folder that was found by its name.
type Place struct {
	// InstanceUUID of the vCenter: a reference means nothing in another one.
	InstanceUUID string
	// Datacenter and Folder are the names that led there, as spec had them.
	Datacenter, Folder string
	// Root is the folder.
	Root Ref
}

// PlaceProblem is why the names in spec do not lead to the operator's VMs; zero if they do.
type PlaceProblem struct {
	Kind PlaceProblemKind
	// Message says it to a person, with what to do.
	Message string
}

// PlaceProblemKind is what has happened.
type PlaceProblemKind string

// Kinds of problems with a place. With the first two what was found before is still used.
const (
	DatacenterUnclear PlaceProblemKind = "DatacenterUnclear"
	RootRenamed       PlaceProblemKind = "RootRenamed"
	VMsElsewhere      PlaceProblemKind = "VMsElsewhere"
)

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
