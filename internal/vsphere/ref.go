package vsphere

import "strings"

// Object types of a Ref, as vSphere names them.
const (
	TypeVirtualMachine = "VirtualMachine"
	TypeFolder         = "Folder"
	TypeDatacenter     = "Datacenter"
)

// Ref is a managed object reference. The zero value refers to nothing.
type Ref struct {
	// Type is the managed object type, for example VirtualMachine.
	Type string
	// Value is the server's identifier, for example vm-42. It is unique within one vCenter and is not reused.
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

// GroupID identifies a VmGroup for ever: a group that is re-created under its old name has another one.
type GroupID struct {
	// Installation is the UID of the operator's installation.
	Installation string
	// Member is the UID of the member cluster.
	Member string
	// Group is the UID of the VmGroup.
	Group string
}

// SameGroup reports whether both name one VmGroup, whichever installation serves it.
func (id GroupID) SameGroup(other GroupID) bool {
	return id.Member == other.Member && id.Group == other.Group
}

// Key of the group.
func (id GroupID) Key() GroupKey { return KeyOf(id.Member, id.Group) }

// GroupKey tells VmGroups apart, whichever installation serves them. Whatever is remembered of a group is kept by it: the group's UID alone
// is what the API server of its member says, and the one of another member can say the same.
type GroupKey string

// KeyOf returns the key of a group, given the UID of its member cluster and its own. No member has a slash in its UID: the hub pins none
// that has.
func KeyOf(member, group string) GroupKey { return GroupKey(member + "/" + group) }

// Member is the UID of the group's cluster.
func (k GroupKey) Member() string {
	member, _, _ := strings.Cut(string(k), "/")
	return member
}

// Group is the UID of the group.
func (k GroupKey) Group() string {
	_, group, _ := strings.Cut(string(k), "/")
	return group
}

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
