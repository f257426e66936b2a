package vsphere

// Template is a VM that is marked as template.
type Template struct {
	Ref  Ref
	Name string
	// Path is the inventory path, for example /DC0/vm/linux/debian-12.
	Path string
	// Host is the managed object reference of the template's host. Clones from one host share a limit. If the host is not visible,
	// Host is a value unique to the template. It is never empty.
	Host string
	// HasSnapshot is true if a linked clone is possible.
	HasSnapshot bool
	// CoresPerSocket of the template. Zero means that vCenter did not show it.
	CoresPerSocket int32
	// RootDiskBytes is the capacity of the template's first disk. Zero means that it has none, or that vCenter did not show it.
	RootDiskBytes int64
	// DataDisks is the number of data disks that fit on the controller of the first disk of a full clone, and DataDisksLinked on that of a linked one. Zero means that none fits, or
	// that vCenter did not show the first disk.
	DataDisks, DataDisksLinked int
	// Datastores of the template's disks, as paths.
	Datastores []string
	// Networks of the template's adapters, as paths.
	Networks []string
	// Unfit is the reason why full clones are impossible, and UnfitLinked the reason why linked ones are, as sentences for a user.
	// They are empty if clones are possible.
	Unfit, UnfitLinked string
}
