package vsphere

import "time"

// Adoption names a VM that a group adopts, and the state the VM must have until the group owns it. An adoption has three repeatable steps: Move,
// Rename, Adopt. Adopt writes the stamp last, so that no other group can power or destroy the VM before the adoption is complete.
type Adoption struct {
	VM Ref
	// From is what the VM must carry so that the group can adopt it.
	From Origin
	// Folder is the group's folder, and Name the VM's name in it.
	Folder Ref
	Name   string
	// Mark is the release mark for a VM that carries neither stamp nor mark. Only Claim needs it.
	Mark ReleaseMark
	// Stamp that the VM gets. Its UUID is the VM's instance UUID at adoption.
	Stamp Stamp
	// ChangeVersion of the observation that led to the call. Only Adopt needs it. If it is empty, Adopt skips the check.
	ChangeVersion string
}

// Done reports whether the VM already carries the group's stamp. Any replica can have written the stamp.
func (a Adoption) Done(stamp *Stamp) bool {
	return stamp != nil && stamp.GroupID == a.Stamp.GroupID && stamp.Ordinal == a.Stamp.Ordinal
}

// Origin is the proof that a group can adopt a VM: what the VM carries, and its location. At most one of Stamp and Released is set.
type Origin struct {
	// Stamp of another group, which no longer exists.
	Stamp *Stamp
	// Released is the mark of another group.
	Released *ReleaseMark
	// Folder granted to the group, anywhere in the datacenter. The VM lies directly in it or, once moved, in the group's own folder. If Folder is
	// zero, the VM can lie anywhere below the root folder.
	Folder Ref
}

// FolderContent lists the VMs directly in a folder.
type FolderContent struct {
	Folder Ref
	VMs    []FoundVM
}

// FoundVM is a freshly read VM.
type FoundVM struct {
	VM
	// Created is the VM's creation time, or zero if vCenter does not report it.
	Created time.Time
	// Marked is true if the VM's configuration contains any key of the operator, even an unreadable stamp or mark.
	Marked bool
}

// Carried reports whether a VM carries the stamp or mark of o. A VM with neither is identified by its folder, which Carried does not check.
func (o Origin) Carried(stamp *Stamp, released *ReleaseMark) bool {
	switch {
	case o.Stamp != nil:
		return stamp != nil && *stamp == *o.Stamp
	case o.Released != nil:
		return stamp == nil && released != nil && *released == *o.Released
	}
	return stamp == nil && released == nil && !o.Folder.IsZero()
}
