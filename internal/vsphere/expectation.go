package vsphere

// Expectation is what the groups of a vCenter expect to find, by spec and status. The operator uses it if the root folder reads empty.
type Expectation struct {
	// VMs is the number of expected VMs.
	VMs int
	// Recorded are the VMs in the groups' status, including those that are being deleted.
	Recorded []Ref
	// Unrecorded is true if a group wants VMs but its status lists none, for example because a user wiped it. The VMs of that group are
	// unknown.
	Unrecorded bool
}
