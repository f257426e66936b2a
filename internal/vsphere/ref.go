package vsphere

// Object types of a Ref, as vSphere names them.
const (
	TypeVirtualMachine = "VirtualMachine"
	TypeFolder         = "Folder"
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
