package vsphere

import "strings"

// Object types of a Ref, by their vSphere names.
const (
	TypeVirtualMachine = "VirtualMachine"
	TypeFolder         = "Folder"
	TypeDatacenter     = "Datacenter"
)

// Ref is a managed object reference. The zero value refers to nothing.
type Ref struct {
	// Type is the managed object type, for example VirtualMachine.
	Type string
	// Value is the server's identifier, for example vm-42. It is unique within one vCenter and is never reused.
	Value string
}

// IsZero reports whether r refers to nothing.
func (r Ref) IsZero() bool { return r.Value == "" }

// String returns the form that vSphere's own tools print, for example VirtualMachine:vm-42.
func (r Ref) String() string { return r.Type + ":" + r.Value }

// VMRef returns the reference of the VM with the given value; an empty value gives the zero Ref.
func VMRef(value string) Ref {
	if value == "" {
		return Ref{}
	}
	return Ref{Type: TypeVirtualMachine, Value: value}
}

// FolderRef returns the reference of the folder with the given value; an empty value gives the zero Ref.
func FolderRef(value string) Ref {
	if value == "" {
		return Ref{}
	}
	return Ref{Type: TypeFolder, Value: value}
}

// GroupID identifies a VmGroup forever: a group that is re-created under its old name has another ID.
type GroupID struct {
	// Installation is the UID of the operator's installation.
	Installation string
	// Member is the UID of the member cluster.
	Member string
	// Group is the UID of the VmGroup.
	Group string
}

// SameGroup reports whether both IDs name one VmGroup, independent of the installation that serves it.
func (id GroupID) SameGroup(other GroupID) bool {
	return id.Member == other.Member && id.Group == other.Group
}

// Key returns the key of the group.
func (id GroupID) Key() GroupKey { return KeyOf(id.Member, id.Group) }

// GroupKey identifies a VmGroup, independent of the installation that serves it. All memory of a group uses this key. The group's UID alone
// is not enough: the member's API server chooses it, and another member's API server can choose the same.
type GroupKey string

// KeyOf returns the key of a group from the UIDs of its member cluster and itself. A member's UID contains no slash: the hub accepts no
// such UID.
func KeyOf(member, group string) GroupKey { return GroupKey(member + "/" + group) }

// Member returns the UID of the group's member cluster.
func (k GroupKey) Member() string {
	member, _, _ := strings.Cut(string(k), "/")
	return member
}

// Group returns the UID of the group.
func (k GroupKey) Group() string {
	_, group, _ := strings.Cut(string(k), "/")
	return group
}

// Folder is a VM folder below the operator's root folder.
type Folder struct {
	Ref    Ref
	Name   string
	Parent Ref
	// Path is the inventory path for display.
	Path string
	// Place holds the names of the folder and of the two folders above it, below the root folder. Observations set it. Names from members are
	// compared with these elements, and never with a path: a slash in a name would split it.
	Place FolderPath
}

// GroupFolder is a folder at the depth of group folders.
type GroupFolder struct {
	Ref Ref
	FolderPath
	// InventoryPath is for display.
	InventoryPath string
}

// FolderPath is the location of a group's VMs below the root folder.
type FolderPath struct {
	// Member is the name of the member cluster, and Namespace the name of the namespace.
	Member, Namespace string
	// Leaf is the group's name, a dot and the first eight characters of its UID.
	Leaf string
}
