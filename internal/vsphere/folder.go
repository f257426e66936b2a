package vsphere

// Folder is a VM folder below the operator's root folder.
type Folder struct {
	Ref    Ref
	Name   string
	Parent Ref
	// Path is the inventory path, for people.
	Path string
	// Place is where the folder lies: its name and those of the two folders above it, empty from the root folder on. Observations have it.
	// Names that members made up are compared with these elements, and never with a path: a slash in a name would make two of it.
	Place FolderPath
}

// GroupFolder is a folder at the place of a group's.
type GroupFolder struct {
	Ref Ref
	FolderPath
	// InventoryPath is for people.
	InventoryPath string
}

// FolderPath is where a group's VMs live below the root folder.
type FolderPath struct {
	// Member is the name of the member cluster, Namespace that of the namespace.
	Member, Namespace string
	// Leaf is the group's name, a dot and the first eight characters of its UID.
	Leaf string
}
