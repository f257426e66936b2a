package vsphere

// Template is a VM that is marked as template.
type Template struct {
	Ref  Ref
	Name string
	// Path is the inventory path, for example /DC0/vm/linux/debian-12.
	Path string
	// Host is the managed object reference of the host it is registered on; clones of one host share a limit. Where
	// the host cannot be seen it is something else that is the template's alone; it is never empty.
	Host string
	// HasSnapshot is true when a linked clone is possible.
	HasSnapshot bool
	// Datastores that the template's disks lie on, as paths.
	Datastores []string
	// Networks of the template's adapters, as paths.
	Networks []string
	// Unfit says why no full clone can be made of it, and UnfitLinked why no linked one, as sentences for a person; empty if they can.
	Unfit, UnfitLinked string
}
