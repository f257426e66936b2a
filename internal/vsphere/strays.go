package vsphere

import "time"

// Stray is a VM outside of the operator's root folder that carries this installation's stamp.
type Stray struct {
	Ref Ref
	// Path is its inventory path, or only its name if the path cannot be read.
	Path string
}

// Strays is what a look through a whole vCenter found.
type Strays struct {
	// At is when it was looked at; zero before the first look.
	At time.Time
	// Count is how many there are; VMs names the first of them, sorted by reference.
	Count int
	VMs   []Stray
	// Limits says, as the end of a sentence, where the account may not look; empty if it may look everywhere.
	Limits string
}
