package vsphere

// Expectation is what groups count on in a vCenter whose root folder reads empty, by what they want and have recorded.
type Expectation struct {
	// VMs that they count on.
	VMs int
	// Recorded are the VMs that their status shows, those that are being deleted among them.
	Recorded []Ref
	// Unrecorded is true if some group wants VMs and its status shows none, as after somebody has wiped it: what VMs it had is not known.
	Unrecorded bool
}
