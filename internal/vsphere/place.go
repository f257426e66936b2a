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
